"""The life of a checkpoint: from the request of a save to its end. Pure."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Final

from apps.checkpoints.domain.codes import Level

_NS: Final = 1_000_000_000
ROTATION_LEAVES: Final = 2
"""So many newer complete checkpoints must be there before a loss is taken for a rotation."""


class State(StrEnum):
    """Where a checkpoint is in its life. The words are stored.

    requested: somebody said that a save begins. committing: files are there, the marker that is
    written last is not. committed: the marker is there. verified: headers were read and agree.
    failed: no marker came in time. deleted: removed on purpose. lost: gone, and nobody said why.
    """

    REQUESTED = "requested"
    COMMITTING = "committing"
    COMMITTED = "committed"
    VERIFIED = "verified"
    FAILED = "failed"
    DELETED = "deleted"
    LOST = "lost"


class Worth(StrEnum):
    """What a checkpoint is worth in one word.

    complete: it may be restored. damaged: it is there, and something forbids it. unseen: only a
    word of its writer says that it is there.
    """

    COMPLETE = "complete"
    DAMAGED = "damaged"
    UNSEEN = "unseen"
    UNDER_WAY = "under_way"
    FAILED = "save_failed"
    DELETED = "deleted"
    LOST = "lost"


class Event(StrEnum):
    """What can happen to a checkpoint. written: files without a marker were seen."""

    REQUESTED = "requested"
    WRITTEN = "written"
    COMMITTED = "committed"
    VERIFIED = "verified"
    OVERDUE = "overdue"
    DELETED = "deleted"
    VANISHED = "vanished"


PRESENT: Final = frozenset((State.COMMITTED, State.VERIFIED))
"""What may be restored, if nothing fatal was found in it."""
OPEN: Final = frozenset((State.REQUESTED, State.COMMITTING))
GONE: Final = frozenset((State.DELETED, State.LOST))
_ENDS: Final = {
    State.FAILED: Worth.FAILED,
    State.DELETED: Worth.DELETED,
    State.LOST: Worth.LOST,
}

_OPEN_MOVES: Final = {
    Event.WRITTEN: State.COMMITTING,
    Event.COMMITTED: State.COMMITTED,
    Event.VERIFIED: State.VERIFIED,
    Event.OVERDUE: State.FAILED,
    Event.DELETED: State.DELETED,
    # What never was committed is not lost: its save failed.
    Event.VANISHED: State.FAILED,
}
_AGAIN: Final = {
    Event.REQUESTED: State.REQUESTED,
    Event.COMMITTED: State.COMMITTED,
    Event.VERIFIED: State.VERIFIED,
}
_MOVES: Final[dict[State, dict[Event, State]]] = {
    State.REQUESTED: _OPEN_MOVES,
    State.COMMITTING: _OPEN_MOVES,
    State.COMMITTED: {
        Event.VERIFIED: State.VERIFIED,
        Event.DELETED: State.DELETED,
        Event.VANISHED: State.LOST,
    },
    State.VERIFIED: {Event.DELETED: State.DELETED, Event.VANISHED: State.LOST},
    State.FAILED: {**_AGAIN, Event.DELETED: State.DELETED},
    State.DELETED: _AGAIN,
    State.LOST: {**_AGAIN, Event.DELETED: State.DELETED},
}


def after(state: State, event: Event) -> State:
    """The state once `event` happened; the same where the event says nothing new.

    What is committed never falls back to being written: a lost marker is a finding, no state. What
    was gone or failed comes back once it is seen committed: a mount returns, an asynchronous save
    commits late, a soft deletion is undone.
    """
    return _MOVES[state].get(event, state)


def event_of(level: Level, *, hurt: bool) -> Event:
    """What a word or a look that reached `level` says. hurt: something fatal was found.

    Not every layout has a marker: files in which nothing is missing are taken for committed, which
    is not enough for a restore.
    """
    if level is Level.LISTED:
        return Event.WRITTEN if hurt else Event.COMMITTED
    return Event.COMMITTED if level is Level.COMMITTED else Event.VERIFIED


def worth_of(state: State, level: Level, *, hurt: bool) -> Worth:
    """What a checkpoint is worth. hurt: something fatal was found in it."""
    if state in OPEN:
        return Worth.UNDER_WAY
    if state not in PRESENT:
        return _ENDS[state]
    if hurt:
        return Worth.DAMAGED
    return Worth.UNSEEN if level is Level.LISTED else Worth.COMPLETE


def level_after(known: Level, seen: Level, *, whole: bool) -> Level:
    """The level after another look: it never falls while the look found the checkpoint whole and
    unchanged; else it is what that look reached."""
    return max(known, seen, key=list(Level).index) if whole else seen


def overdue(
    since_ns: int, now_ns: int, usual_save_s: float | None, *, factor: float, floor_s: float
) -> bool:
    """Whether a save that began at `since_ns` is taken for failed: `factor` usual saves have passed
    since, and at least `floor_s`, which alone counts while nothing is usual yet."""
    patience_s = max(floor_s, factor * (usual_save_s or 0.0))
    return now_ns - since_ns > patience_s * _NS


def gone_as(step: int, complete: Collection[int], *, kept: bool) -> tuple[Event, str]:
    """(what happened to a checkpoint that is no longer there, why that is thought).

    complete: the steps that are still there. kept: a person or a job had marked it. Frameworks
    delete their oldest checkpoint by themselves; anything else that vanishes is a loss, because a
    rotation may take the wrong one (transformers#11748 deleted the newest).
    """
    older = sum(other < step for other in complete)
    newer = sum(other > step for other in complete)
    if kept:
        return Event.VANISHED, "it is gone although it was marked to be kept"
    if older == 0 and newer >= ROTATION_LEAVES:
        text = f"it was the oldest, and {newer} newer complete ones are there: a rotation, it seems"
        return Event.DELETED, text
    if older:
        return Event.VANISHED, f"it is gone while {older} older complete ones are still there"
    left = "no other complete one is" if newer == 0 else f"only {newer} complete one is"
    return Event.VANISHED, f"it is gone and {left} there"
