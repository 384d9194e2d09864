"""Every statement against the places where checkpoints lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from apps.checkpoints import store
from apps.checkpoints.domain.codes import CheckpointFinding, Level
from apps.checkpoints.domain.lifecycle import GONE, PRESENT, State
from apps.checkpoints.domain.places import Tier, key_of, place, tier_of
from apps.checkpoints.models import Checkpoint, CheckpointCopy
from apps.checkpoints.records import CheckpointInfo, Copy, Place
from apps.core.plain import packed

MAX_COPIES = 5_000
MAX_URI = 4_000
_GONE = [state.value for state in GONE]


def save(run_id: int, copy: Copy) -> None:
    """Keeps what is known of one place; what was known of it before is replaced."""
    CheckpointCopy.objects.bulk_create(
        [
            CheckpointCopy(
                run_id=run_id,
                attempt=copy.attempt,
                step=copy.step,
                place_key=key_of(copy.uri),
                uri=place(copy.uri)[:MAX_URI],
                tier=copy.tier.value,
                state=copy.state.value,
                level=copy.level.value,
                findings=packed(copy.findings),
                stated_bytes=copy.bytes,
                seen_at_ns=copy.seen_at_ns,
            )
        ],
        update_conflicts=True,
        unique_fields=["run_id", "attempt", "step", "place_key"],
        update_fields=["tier", "state", "level", "findings", "stated_bytes", "seen_at_ns"],
    )


def get(run_id: int, attempt: int, step: int, uri: str) -> Copy | None:
    """What is known of one place; None: nothing was said of it. -- uses the primary key"""
    rows = CheckpointCopy.objects.filter(
        run_id=run_id, attempt=attempt, step=step, place_key=key_of(uri)
    )
    row = rows.first()
    return _copy(row) if row else None


def of_checkpoint(run_id: int, attempt: int, step: int) -> list[Copy]:
    """The places of one checkpoint that were looked at or spoken of beside its path, by address.
    -- uses the primary key"""
    rows = CheckpointCopy.objects.filter(run_id=run_id, attempt=attempt, step=step)
    return [_copy(row) for row in rows.order_by("uri")[:MAX_COPIES]]


def of_run(run_id: int, saved: Sequence[CheckpointInfo]) -> Mapping[Place, tuple[Copy, ...]]:
    """(attempt, step) -> all places of it, the one to restore from first. -- uses the primary key

    A path that nobody has looked at stands with what its announcement proves.
    """
    rows = CheckpointCopy.objects.filter(run_id=run_id).order_by("-attempt", "-step", "uri")
    known: dict[Place, list[Copy]] = {}
    for row in rows[:MAX_COPIES]:
        known.setdefault((row.attempt, row.step), []).append(_copy(row))
    return {info.place: tuple(all_places(info, known.get(info.place, ()))) for info in saved}


def elsewhere(run_id: int, at: Place, uri: str) -> tuple[int, Place] | None:
    """Another checkpoint, of this run or another one, that lies in the same place: (run id,
    (attempt, step)). None without one. -- uses ix_checkpoint_copy_place"""
    rows = CheckpointCopy.objects.filter(place_key=key_of(uri)).exclude(state__in=_GONE)
    others = rows.exclude(run_id=run_id, attempt=at[0], step=at[1])
    found = others.values_list("run_id", "attempt", "step").first()
    return (found[0], (found[1], found[2])) if found else None


def under(run_id: int, prefix: str) -> list[Copy]:
    """The places below an address where something should be, by attempt and step, at most
    MAX_COPIES. What a complete listing of the address does not have of them is gone."""
    start = place(prefix).rstrip("/") + "/"
    rows = CheckpointCopy.objects.filter(
        run_id=run_id, uri__startswith=start, state__in=[state.value for state in PRESENT]
    )
    return [_copy(row) for row in rows.order_by("attempt", "step")[:MAX_COPIES]]


def announced_under(run_id: int, prefix: str, *, before_ns: int) -> list[Copy]:
    """Places below an address that were announced before a time and that no look has found, by
    attempt and step, at most MAX_COPIES. -- uses the primary key

    [] unless a look has found another announced one of the run there: only then do announcements
    and looks mean the same by a path. Layouts that no look knows are left out.
    """
    start = place(prefix).rstrip("/") + "/"
    rows = Checkpoint.objects.filter(run_id=run_id, path__startswith=start).exclude(source="scan")
    if not rows.filter(seen_at_ns__isnull=False).exists():
        return []
    unseen = rows.filter(
        seen_at_ns__isnull=True,
        saved_at_ns__lt=before_ns,
        state__in=[state.value for state in PRESENT],
    ).exclude(framework="unknown")
    found = unseen.order_by("attempt", "step").defer("files")[:MAX_COPIES]
    return [first_place(store.outline(row)) for row in found]


def all_places(info: CheckpointInfo, copies: Iterable[Copy]) -> list[Copy]:
    """The place to restore from, then the others."""
    own, others = place(info.path), list(copies)
    first = [copy for copy in others if copy.uri == own[:MAX_URI]] or [first_place(info)]
    return [*first, *(copy for copy in others if copy.uri != own[:MAX_URI])]


def first_place(info: CheckpointInfo) -> Copy:
    """The place that a checkpoint was announced with, as nobody has looked at it."""
    return Copy(
        attempt=info.attempt,
        step=info.step,
        uri=place(info.path),
        tier=tier_of(info.path),
        state=info.state,
        level=Level(info.level),
        findings=info.findings,
        bytes=info.bytes if info.digest else None,
        seen_at_ns=None,
    )


def _copy(row: CheckpointCopy) -> Copy:
    return Copy(
        attempt=row.attempt,
        step=row.step,
        uri=row.uri,
        tier=Tier(row.tier),
        state=State(row.state),
        level=Level(row.level),
        findings=msgspec.convert(row.findings, tuple[CheckpointFinding, ...]),
        bytes=row.stated_bytes,
        seen_at_ns=row.seen_at_ns,
    )
