"""What people said about wanted changes of a run."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Max

from apps.metrics.domain.planned import PlannedChange
from apps.metrics.models import Planned

MAX_PLANNED = 200
"""Changes of one run that count at the same time."""


@dataclass(frozen=True, slots=True)
class PlannedInfo:
    """A change with who said it. removed_at_ns: when it was taken back, None: it counts."""

    number: int
    change: PlannedChange
    said_by: str
    said_at_ns: int
    removed_at_ns: int | None = None


def _info(row: Planned) -> PlannedInfo:
    change = PlannedChange(row.kind, row.from_step, row.to_step, row.text, "person")
    return PlannedInfo(row.number, change, row.said_by, row.said_at_ns, row.removed_at_ns)


def planned(run_id: int) -> list[PlannedInfo]:
    """What counts in a run, by step. -- uses ix_planned_counting"""
    rows = Planned.objects.filter(run_id=run_id, removed_at_ns=None).order_by("from_step", "number")
    return [_info(row) for row in rows[:MAX_PLANNED]]


def get_planned(run_id: int, number: int) -> PlannedInfo | None:
    """One change, also one that was taken back. -- uses the primary key"""
    row = Planned.objects.filter(run_id=run_id, number=number).first()
    return _info(row) if row else None


def add_planned(run_id: int, change: PlannedChange, by: str, at_ns: int) -> PlannedInfo:
    """Writes a change. Hold the run's row."""
    last = Planned.objects.filter(run_id=run_id).aggregate(n=Max("number"))["n"] or 0
    row = Planned.objects.create(
        run_id=run_id,
        number=last + 1,
        kind=change.kind,
        from_step=change.from_step,
        to_step=change.to_step,
        text=change.text,
        said_by=by[:200],
        said_at_ns=at_ns,
    )
    return _info(row)


def remove_planned(run_id: int, number: int, by: str, at_ns: int) -> bool:
    """Takes a change back; False if that was done before. Hold the run's row."""
    rows = Planned.objects.filter(run_id=run_id, number=number, removed_at_ns=None)
    return bool(rows.update(removed_by=by[:200], removed_at_ns=at_ns))
