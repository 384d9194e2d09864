"""Every statement against the marks of checkpoints."""

from __future__ import annotations

from django.db.models import Q

from apps.checkpoints.models import CheckpointMark
from apps.checkpoints.records import MarkKind, Place, Protection

MAX_MARKS = 10_000
"""Of one run that are read."""
MAX_OF_ONE = 50
"""Marks of one checkpoint: a name for everything it was ever used for."""


def save(run_id: int, at: Place, mark: Protection) -> None:
    """Sets a mark; one of the same kind and name is replaced."""
    CheckpointMark.objects.bulk_create(
        [
            CheckpointMark(
                run_id=run_id,
                attempt=at[0],
                step=at[1],
                kind=mark.kind.value,
                name=mark.name,
                reason=mark.reason,
                actor=mark.actor,
                made_at_ns=mark.made_at_ns,
                until_ns=mark.until_ns,
            )
        ],
        update_conflicts=True,
        unique_fields=["run_id", "attempt", "step", "kind", "name"],
        update_fields=["reason", "actor", "made_at_ns", "until_ns"],
    )


def drop(run_id: int, at: Place, kind: MarkKind, name: str) -> bool:
    """Takes a mark off; False if there was none."""
    rows = CheckpointMark.objects.filter(
        run_id=run_id, attempt=at[0], step=at[1], kind=kind.value, name=name
    )
    return bool(rows.delete()[0])


def of_checkpoint(run_id: int, at: Place, now_ns: int) -> list[Protection]:
    """The marks of a checkpoint that hold, by kind and name. -- uses the primary key"""
    rows = CheckpointMark.objects.filter(_holds(now_ns), run_id=run_id, attempt=at[0], step=at[1])
    return [_protection(row) for row in rows.order_by("kind", "name")[: MAX_OF_ONE * 2]]


def held_by(run_id: int, holder: str) -> Place | None:
    """The checkpoint that a holder has leased last; None if none. -- uses the primary key"""
    rows = CheckpointMark.objects.filter(run_id=run_id, kind=MarkKind.LEASE.value, name=holder)
    newest = rows.order_by("-made_at_ns").values_list("attempt", "step").first()
    return None if newest is None else (newest[0], newest[1])


def of_run(run_id: int, now_ns: int) -> dict[Place, list[Protection]]:
    """(attempt, step) -> its marks that hold, by kind and name. -- uses the primary key"""
    rows = CheckpointMark.objects.filter(_holds(now_ns), run_id=run_id)
    found: dict[Place, list[Protection]] = {}
    for row in rows.order_by("-attempt", "-step", "kind", "name")[:MAX_MARKS]:
        found.setdefault((row.attempt, row.step), []).append(_protection(row))
    return found


def _holds(now_ns: int) -> Q:
    return Q(until_ns__isnull=True) | Q(until_ns__gt=now_ns)


def _protection(row: CheckpointMark) -> Protection:
    return Protection(
        kind=MarkKind(row.kind),
        name=row.name,
        reason=row.reason,
        actor=row.actor,
        made_at_ns=row.made_at_ns,
        until_ns=row.until_ns,
    )
