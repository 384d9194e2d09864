"""Reads what people and jobs said of checkpoints: marks, copies, evaluations, deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from apps.checkpoints import copies_store, evaluations, marks, retention_store
from apps.checkpoints.domain.deletion import State
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
    kept = marks.protections(run_id, now_ns)
    copies = copies_store.of_run(run_id, list(infos.values()))
    scores = evaluations.of_run(run_id)
    going = retention_store.under_way(run_id)
    return {
        place: replace(
            _saved(info, going.get(place), now_ns),
            kept=tuple(map(_mark, kept.get(place, ())[:_SHOWN])),
            copies=_copies(copies.get(place, ()), now_ns),
            scores=tuple(_score(s) for s in scores.get(info.step, ()) if s.attempt == info.attempt),
        )
        for place, info in infos.items()
    }


def _saved(
    info: CheckpointInfo, deletion: tuple[State, int] | None, now_ns: int
) -> SavedCheckpoint:
    state, due_ns = deletion or (None, 0)
    return SavedCheckpoint(
        attempt=info.attempt,
        step=info.step,
        path=info.path,
        saved_at_ns=info.saved_at_ns,
        size_bytes=info.bytes,
        level=info.level,
        complete=info.complete,
        findings=tuple(f"{f.code}: {f.message}" for f in info.findings),
        leaving=_leaving(info, state),
        doomed=_doomed((due_ns - now_ns) / 1e9) if state is State.WAITING else "",
    )


def _doomed(left_s: float) -> str:
    return f"the rules of retention delete it in {duration(left_s)}, unless it is chosen"


def _leaving(info: CheckpointInfo, deletion: State | None) -> str:
    if info.state in GONE:
        return f"{info.state.value}: {info.why}" if info.why else info.state.value
    return "it is being deleted now" if deletion is State.DELETING else ""


def _mark(mark: Protection) -> str:
    """ "pinned by ada: before the new data"."""
    named = f" {mark.name}" if mark.kind is MarkKind.TAG else ""
    who = mark.name if mark.kind is MarkKind.LEASE else mark.actor
    why = f": {mark.reason}" if mark.reason else ""
    return f"{_VERBS[mark.kind]}{named} by {who}{why}"


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
