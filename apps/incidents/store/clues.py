"""Statements for the triage card: who was ill before, and the clues that are kept."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from django.db.models import Min

from apps.core.plain import packed
from apps.incidents.domain.clues import Clues
from apps.incidents.models import Incident, KeptClues


def ill_since(run_ids: Collection[int]) -> dict[tuple[int, int], int]:
    """(run, attempt) -> the first onset of its incidents that page. -- uses ix_incident_attempt"""
    rows = Incident.objects.filter(run_id__in=list(run_ids), page=True, onset_step__isnull=False)
    found = rows.values_list("run_id", "attempt").annotate(first=Min("onset_step"))
    return {(run_id, attempt): first for run_id, attempt, first in found}


def keep(run_id: int, incident_id: int, clues: Clues) -> None:
    """Keeps the clues of an incident that is over; what was kept before is replaced."""
    KeptClues.objects.update_or_create(
        run_id=run_id, incident_id=incident_id, defaults={"clues": packed(clues)}
    )


def forget(run_id: int, incident_id: int) -> None:
    """The incident is open again: its clues are looked up anew."""
    KeptClues.objects.filter(run_id=run_id, incident_id=incident_id).delete()


def kept(run_id: int, incident_id: int) -> Clues | None:
    """The clues that were kept; None if there are none, or an older program kept others.

    -- uses the primary key
    """
    rows = KeptClues.objects.filter(run_id=run_id, incident_id=incident_id)
    stored = rows.values_list("clues", flat=True).first()
    try:
        return None if stored is None else msgspec.convert(stored, Clues)
    except msgspec.ValidationError:
        return None
