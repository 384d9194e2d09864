"""Statistics of the model that leave their bands: one finding an episode, however many move.

Events of the bank in, findings out. Warnings only: a layer that moves is a reason to look, no
reason to wake somebody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from apps.metrics.domain.bank import Happened, What

NAME = "layer_trend"
VERSION = 1
_STARTS = (What.MOVED, What.OVER)
_ENDS = {What.BACK: "back", What.SETTLED: "settled", What.UNDER: "back"}


@dataclass(frozen=True, slots=True)
class TrendPolicy:
    """When movers are an episode. A loud one, or one above its limit, is enough; of quieter ones
    `quiet_need`, and one more for every `series_each` series: with thousands of series one of them
    is out by chance now and then. A series that moves within `again_steps` of the end of an episode
    reopens it. spread: an episode is told again when so many times more series have moved."""

    quiet_need: int = 2
    series_each: int = 500
    again_steps: int = 100
    spread: float = 1.5


class Mark(msgspec.Struct):
    """A series in an episode. limit: above its limit, not out of its band. step: where that was
    certain. ended: "" while it is out, "back", or "settled" where it went. numbers: see `Happened`.
    """

    key_id: int
    limit: bool
    since_step: int
    since_ns: int
    step: int
    before: float
    value: float
    z: float
    loud: bool = False
    ended: str = ""


class Episode(msgspec.Struct):
    """What is told of as one finding. key_step: names it, and never changes. told: how many series
    had moved when it was last told. severity: as last told."""

    key_step: int
    seen_step: int
    seen_ns: int
    told: int = 0
    closed_step: int | None = None
    closed_ns: int | None = None
    severity: str = ""


class TrendState(msgspec.Struct):
    """keys: the key_id of each column of the bank. looked_to: the newest key_id that was looked at.
    rules: a checksum of the project's rules for names. left_out: statistics beyond the bound.
    marks: series that are out, or were in the current episode."""

    version: int = VERSION
    keys: list[int] = []
    looked_to: int = 0
    rules: int = 0
    left_out: int = 0
    marks: list[Mark] = []
    episode: Episode | None = None


Tell = Callable[[Episode, list[Mark]], None]


def take(state: TrendState, events: Iterable[Happened], tell: Tell, policy: TrendPolicy) -> None:
    """Follows the events, in the order of `bank.feed`, and calls `tell` for what is new about an
    episode. Marks of an older episode are dropped when a new one begins."""
    for event in events:
        mark = _marked(state, event)
        if event.what in _STARTS:
            _start(state, event, policy)
        elif event.what in _ENDS and mark is not None:
            mark.ended = _ENDS[event.what]
        elif event.what is What.LOUD and mark is not None:
            mark.loud = True
        _open_or_grow(state, event, tell, policy)
        _close(state, event, tell)


def active(state: TrendState) -> list[Mark]:
    """Those that are out now."""
    return [mark for mark in state.marks if not mark.ended]


def first_of(marks: Sequence[Mark]) -> Mark:
    """The one that moved first; of equally early ones the farthest out."""
    return min(marks, key=lambda mark: (mark.since_step, -mark.z, mark.key_id))


def _marked(state: TrendState, event: Happened) -> Mark | None:
    limit = event.what in (What.OVER, What.UNDER)
    key_id = state.keys[event.column]
    fits = (m for m in reversed(state.marks) if m.key_id == key_id and m.limit == limit)
    return next(fits, None)


def _start(state: TrendState, event: Happened, policy: TrendPolicy) -> None:
    """A series begins to be out. Its first move in an episode is the one that counts."""
    episode = state.episode
    if episode is not None and episode.closed_step is not None:
        if event.since_step - episode.closed_step <= policy.again_steps:
            episode.closed_step = episode.closed_ns = None
            episode.told = 0
        else:
            state.episode = None
            state.marks = active(state)
    mark = _marked(state, event)
    if mark is not None:
        mark.ended = ""
        return
    state.marks.append(
        Mark(
            key_id=state.keys[event.column],
            limit=event.what is What.OVER,
            since_step=event.since_step,
            since_ns=event.since_ns,
            step=event.step,
            before=event.before,
            value=event.value,
            z=event.z,
        )
    )


def _open_or_grow(state: TrendState, event: Happened, tell: Tell, policy: TrendPolicy) -> None:
    if state.episode is None:
        moving = active(state)
        need = policy.quiet_need + len(state.keys) // policy.series_each
        if len(moving) < need and not any(mark.loud or mark.limit for mark in moving):
            return
        state.marks = moving
        first = first_of(moving)
        state.episode = Episode(first.since_step, event.step, event.time_ns)
    episode = state.episode
    grown = event.what in _STARTS and len(state.marks) >= policy.spread * episode.told
    if episode.told and not grown:
        return
    episode.told = len(state.marks)
    episode.seen_step, episode.seen_ns = event.step, event.time_ns
    tell(episode, state.marks)


def _close(state: TrendState, event: Happened, tell: Tell) -> None:
    episode = state.episode
    if episode is None or episode.closed_step is not None or active(state):
        return
    episode.closed_step, episode.closed_ns = event.step, event.time_ns
    tell(episode, state.marks)
