"""The series that moved around the onset of an incident."""

from __future__ import annotations

import msgspec

from apps.core.plain import packed
from apps.incidents.domain.movers import Movers
from apps.incidents.models import IncidentMovers


def save_movers(run_id: int, incident_id: int, movers: Movers) -> None:
    """The series that moved, over what was known of them."""
    IncidentMovers.objects.bulk_create(
        [IncidentMovers(run_id=run_id, incident_id=incident_id, found=packed(movers))],
        update_conflicts=True,
        unique_fields=["run_id", "incident_id"],
        update_fields=["found"],
    )


def movers(run_id: int, incident_id: int) -> Movers | None:
    """The series that moved; None if nobody has looked. -- uses the primary key"""
    row = IncidentMovers.objects.filter(run_id=run_id, incident_id=incident_id).first()
    return msgspec.convert(row.found, Movers) if row else None
