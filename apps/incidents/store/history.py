"""What happened to an incident, line by line."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from apps.incidents.domain.incident import EventInfo
from apps.incidents.models import IncidentEvent

MAX_FINDINGS, MAX_DONE = 2_000, 5_000


def add_events(run_id: int, incident_id: int, events: Sequence[EventInfo]) -> None:
    """Lines of history; keys that are there already are left as they are."""
    IncidentEvent.objects.bulk_create(
        [
            IncidentEvent(
                run_id=run_id,
                incident_id=incident_id,
                key=e.key,
                at_ns=e.at_ns,
                text=e.text,
                actor=e.actor[:200],
            )
            for e in events
        ],
        ignore_conflicts=True,
    )


def notes(run_id: int, incident_id: int) -> list[EventInfo]:
    """What people wrote about an incident, oldest first. -- uses the primary key"""
    rows = IncidentEvent.objects.filter(
        run_id=run_id, incident_id=incident_id, key__startswith="note:"
    )
    return [_event(row) for row in rows.order_by("at_ns", "key")]


def events(run_id: int, incident_id: int) -> list[EventInfo]:
    """The history of an incident, oldest first: the newest MAX_DONE lines of what was done and
    written, and the first MAX_FINDINGS of what was found. -- uses the primary key"""
    rows = IncidentEvent.objects.filter(run_id=run_id, incident_id=incident_id)
    finding = Q(key__startswith="finding:")
    found = rows.filter(finding).order_by("at_ns", "key")[:MAX_FINDINGS]
    done = rows.exclude(finding).order_by("-at_ns", "-key")[:MAX_DONE]
    return sorted(map(_event, [*done, *found]), key=lambda e: (e.at_ns, e.key))


def _event(row: IncidentEvent) -> EventInfo:
    return EventInfo(at_ns=row.at_ns, key=row.key, text=row.text, actor=row.actor)
