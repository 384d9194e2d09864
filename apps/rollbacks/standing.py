"""Reads what people and jobs said of checkpoints: marks, copies, evaluations, deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from apps.checkpoints import copies_store, evaluations, marks, retention_store
from apps.checkpoints.domain.lifecycle import GONE
from apps.checkpoints.domain.scores import Score
from apps.checkpoints.records import CheckpointInfo, Copy, MarkKind, Place, Protection
from apps.core.words import duration
from apps.rollbacks.domain.scene import Evaluated, SavedCheckpoint

_SHOWN = 3
_VERBS = {MarkKind.PIN: "pinned", MarkKind.TAG: "tagged", MarkKind.LEASE: "leased"}


def standing(
    run_id: int, infos: Mapping[Place, CheckpointInfo], now_ns: int
) -> dict[Place, SavedCheckpoint]:
    """The checkpoints as they stand. Four statements."""
    waiting = retention_store.waiting(run_id)
    kept = marks.protections(run_id, now_ns)
    copies = copies_store.of_run(run_id, list(infos.values()))
    scores = evaluations.of_run(run_id)
    return {
        place: replace(
            _saved(info),
            kept=(*map(_mark, kept.get(place, ())[:_SHOWN]), *_waits(waiting.get(place), now_ns)),
            copies=_copies(copies.get(place, ()), now_ns),
            scores=tuple(_score(s) for s in scores.get(info.step, ()) if s.attempt == info.attempt),
        )
        for place, info in infos.items()
    }


def _saved(info: CheckpointInfo) -> SavedCheckpoint:
    why = f": {info.why}" if info.why else ""
    return SavedCheckpoint(
        attempt=info.attempt,
        step=info.step,
        path=info.path,
        saved_at_ns=info.saved_at_ns,
        size_bytes=info.bytes,
        level=info.level,
        complete=info.complete,
        findings=tuple(f"{f.code}: {f.message}" for f in info.findings),
        leaving=f"{info.state.value}{why}" if info.state in GONE else "",
    )


def _mark(mark: Protection) -> str:
    """ "pinned by ada: before the new data"."""
    named = f" {mark.name}" if mark.kind is MarkKind.TAG else ""
    who = mark.name if mark.kind is MarkKind.LEASE else mark.actor
    why = f": {mark.reason}" if mark.reason else ""
    return f"{_VERBS[mark.kind]}{named} by {who}{why}"


def _waits(due_ns: int | None, now_ns: int) -> tuple[str, ...]:
    if due_ns is None:
        return ()
    left = duration((due_ns - now_ns) / 1e9)
    return (f"the rules of retention delete it in {left}, unless it is chosen",)


def _copies(places: Sequence[Copy], now_ns: int) -> tuple[str, ...]:
    """The complete places; the first is the one an order would name."""
    whole = [copy for copy in places if copy.complete]
    return tuple(f"{copy.tier.value}: {copy.uri}{_seen(copy, now_ns)}" for copy in whole[:_SHOWN])


def _seen(copy: Copy, now_ns: int) -> str:
    if copy.seen_at_ns is None:
        return ", as announced: no storage was looked at"
    return f", seen {duration((now_ns - copy.seen_at_ns) / 1e9)} ago"


def _score(score: Score) -> Evaluated:
    name = " ".join(dict.fromkeys((score.suite, score.task, score.metric)))
    return Evaluated(name, score.value, score.higher_is_better)
