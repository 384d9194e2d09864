"""Every statement against the rules of retention and the deletions they lead to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

from apps.checkpoints.domain.deletion import State
from apps.checkpoints.domain.lifecycle import GONE
from apps.checkpoints.domain.places import key_of
from apps.checkpoints.domain.retention import Key, Rules
from apps.checkpoints.models import Checkpoint, CheckpointCopy
from apps.checkpoints.retention_models import CheckpointDeletion, RetentionRule
from apps.core.plain import packed

PROJECT = 0
"""In place of a run: the rule of its project."""
MAX_LYING = 10_000
_GONE = [state.value for state in GONE]
_OPEN = (State.WAITING.value, State.DELETING.value)


@dataclass(frozen=True, slots=True)
class SaidRules:
    """Rules and who set them. of_project: they are those of all runs of the project without their
    own. deletes: what no rule keeps is deleted. changed_at_ns: 0 if nobody set any."""

    rules: Rules
    deletes: bool = False
    of_project: bool = False
    changed_by: str = ""
    changed_at_ns: int = 0


@dataclass(frozen=True, slots=True)
class Deletion:
    """One deletion, planned or further."""

    run_id: int
    attempt: int
    step: int
    state: State
    planned_at_ns: int
    due_ns: int
    changed_at_ns: int
    changed_by: str
    size_bytes: int
    message: str = ""
    places: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """What names its checkpoint in the run."""
        return self.attempt, self.step


Deletions = Mapping[Key, Deletion]
"""(attempt, step) -> how far its deletion is."""


def said(project: str, run_id: int) -> SaidRules | None:
    """The rules of a run, else those of its project, else None. -- uses the primary key"""
    rows = RetentionRule.objects.filter(project=project, run_id__in=(PROJECT, run_id))
    row = rows.order_by("-run_id").first()
    return _said(row) if row else None


def deleting() -> list[tuple[str, int]]:
    """(project, run id or PROJECT) whose rules delete, at most 10,000."""
    rows = RetentionRule.objects.filter(deletes=True).order_by("project", "run_id")
    return list(rows.values_list("project", "run_id")[:10_000])


def own(project: str) -> set[int]:
    """The runs of a project that have rules of their own. -- uses the primary key"""
    rows = RetentionRule.objects.filter(project=project).exclude(run_id=PROJECT)
    return set(rows.values_list("run_id", flat=True))


def save_rules(project: str, run_id: int, rules: SaidRules) -> None:
    """Sets the rules of a run, or of a project (PROJECT)."""
    RetentionRule.objects.update_or_create(
        project=project,
        run_id=run_id,
        defaults={
            "rules": packed(rules.rules),
            "deletes": rules.deletes,
            "changed_by": rules.changed_by,
            "changed_at_ns": rules.changed_at_ns,
        },
    )


def drop_rules(project: str, run_id: int) -> bool:
    """Removes the rules of a run, so that those of its project count; False if it had none."""
    return bool(RetentionRule.objects.filter(project=project, run_id=run_id).delete()[0])


@dataclass(frozen=True, slots=True)
class Lying:
    """A checkpoint that lies on the storage. size_bytes: of all its places together, None if
    nobody said. saved as in CheckpointInfo."""

    attempt: int
    step: int
    saved_at_ns: int
    save_s: float | None
    size_bytes: int | None
    complete: bool


def lying(run_id: int) -> list[Lying]:
    """What is not gone, newest step first, without inventories; at most MAX_LYING.

    -- uses the primary keys
    """
    rows = Checkpoint.objects.filter(run_id=run_id).exclude(state__in=_GONE)
    columns = ("attempt", "step", "path", "saved_at_ns", "save_s", "stated_bytes",
               "inventory_digest", "complete")  # fmt: skip
    copies = _copy_bytes(run_id)
    found = []
    for row in rows.order_by("-attempt", "-step").values_list(*columns)[:MAX_LYING]:
        attempt, step, path, saved_at_ns, save_s, stated, digest, complete = row
        places = copies.get((attempt, step), {})
        if digest:
            places = {key_of(path): stated} | places
        known = sum(places.values()) if places else None
        found.append(Lying(attempt, step, saved_at_ns, save_s, known, complete))
    return found


def _copy_bytes(run_id: int) -> dict[Key, dict[str, int]]:
    """(attempt, step) -> bytes by place, of the places where it lies."""
    rows = CheckpointCopy.objects.filter(run_id=run_id, stated_bytes__isnull=False)
    there = rows.exclude(state__in=_GONE).order_by("-attempt", "-step")
    found: dict[Key, dict[str, int]] = {}
    for attempt, step, place, size in there.values_list(
        "attempt", "step", "place_key", "stated_bytes"
    )[:MAX_LYING]:
        found.setdefault((attempt, step), {})[place] = size or 0
    return found


def deletions(run_id: int) -> Deletions:
    """(attempt, step) -> how far its deletion is; at most 10,000. -- uses the primary key"""
    rows = CheckpointDeletion.objects.filter(run_id=run_id).order_by("-attempt", "-step")
    return {(row.attempt, row.step): _deletion(row) for row in rows[:10_000]}


def under_way(run_id: int) -> dict[Key, tuple[State, int]]:
    """(attempt, step) -> (waiting or deleting, when it is due). -- uses the primary key"""
    rows = CheckpointDeletion.objects.filter(run_id=run_id, state__in=_OPEN)
    found = rows.values_list("attempt", "step", "state", "due_ns")
    return {(attempt, step): (State(state), due_ns) for attempt, step, state, due_ns in found}


def runs_with_open() -> list[int]:
    """The runs that have deletions which wait or go on. -- uses ix_checkpoint_deletion_open"""
    rows = CheckpointDeletion.objects.filter(state__in=_OPEN).order_by("run_id")
    return list(rows.values_list("run_id", flat=True).distinct()[:10_000])


def lock(run_id: int, key: Key) -> Deletion | None:
    """One deletion, locked until the transaction ends. -- uses the primary key"""
    rows = CheckpointDeletion.objects.select_for_update()
    row = rows.filter(run_id=run_id, attempt=key[0], step=key[1]).first()
    return _deletion(row) if row else None


def save(deletions: Collection[Deletion]) -> None:
    """The only place that writes how far deletions are. One statement."""
    rows = [
        CheckpointDeletion(
            run_id=one.run_id,
            attempt=one.attempt,
            step=one.step,
            state=one.state.value,
            planned_at_ns=one.planned_at_ns,
            due_ns=one.due_ns,
            changed_at_ns=one.changed_at_ns,
            changed_by=one.changed_by[:200],
            size_bytes=one.size_bytes,
            message=one.message,
            places=list(one.places),
        )
        for one in deletions
    ]
    CheckpointDeletion.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["run_id", "attempt", "step"],
        update_fields=[
            "state", "planned_at_ns", "due_ns", "changed_at_ns", "changed_by", "size_bytes",
            "message",
            "places",
        ],
    )  # fmt: skip


def due(now_ns: int, limit: int) -> list[Deletion]:
    """What may be deleted now, those begun first. -- uses ix_checkpoint_deletion_open"""
    rows = CheckpointDeletion.objects.filter(state__in=_OPEN, due_ns__lte=now_ns)
    return [_deletion(row) for row in rows.order_by("state", "due_ns", "step")[:limit]]


def deleted_since(since_ns: int) -> int:
    """How many were deleted after a time. -- uses ix_checkpoint_deletion_done"""
    rows = CheckpointDeletion.objects.filter(state=State.DELETED.value)
    return rows.filter(changed_at_ns__gt=since_ns).count()


def _said(row: RetentionRule) -> SaidRules:
    return SaidRules(
        rules=msgspec.convert(row.rules, Rules, strict=False),
        deletes=row.deletes,
        of_project=row.run_id == PROJECT,
        changed_by=row.changed_by,
        changed_at_ns=row.changed_at_ns,
    )


def _deletion(row: CheckpointDeletion) -> Deletion:
    return Deletion(
        run_id=row.run_id,
        attempt=row.attempt,
        step=row.step,
        state=State(row.state),
        planned_at_ns=row.planned_at_ns,
        due_ns=row.due_ns,
        changed_at_ns=row.changed_at_ns,
        changed_by=row.changed_by,
        size_bytes=row.size_bytes,
        message=row.message,
        places=tuple(row.places),
    )
