"""From which checkpoint each attempt began, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.rollbacks.domain.lineage import Branch, contains, past
from apps.rollbacks.domain.scene import Begun

Place = tuple[int, int]
"""(attempt, step)."""


@dataclass(frozen=True, slots=True)
class Started:
    """An attempt after the first. told_step: the step it said it resumes from. ordered: the
    checkpoint of the order it followed, and how that order ended, in words; both None, "" if it
    followed none. running: it is the newest and has not ended."""

    number: int
    parent: int | None
    fork_step: int | None
    last_step: int | None
    running: bool
    told_step: int | None = None
    ordered: Place | None = None
    verdict: str = ""


def begun_from(
    starts: Sequence[Started], saved: Sequence[Place], branches: Sequence[Branch]
) -> Mapping[Place, tuple[Begun, ...]]:
    """(attempt, step) of a checkpoint -> the attempts that began from it, oldest first.

    An order names its checkpoint; without one it is the newest of the parent's past at or before
    the step that the attempt said or logged first. An attempt that says nothing of the two is left
    out. O(starts x checkpoints).
    """
    found: dict[Place, list[Begun]] = {}
    for start in starts:
        place = start.ordered or _base(start, saved, branches)
        if place is not None:
            begun = Begun(start.number, _ended(start), start.last_step is not None or start.running)
            found.setdefault(place, []).append(begun)
    return {place: tuple(begun) for place, begun in found.items()}


def _base(start: Started, saved: Sequence[Place], branches: Sequence[Branch]) -> Place | None:
    step = start.fork_step if start.told_step is None else start.told_step
    if step is None or start.parent is None:
        return None
    history = past(branches, start.parent)
    ours = [place for place in saved if place[1] <= step and contains(history, *place)]
    return max(ours, key=lambda place: (place[1], place[0]), default=None)


def _ended(start: Started) -> str:
    if start.last_step is None:
        return "it has logged nothing yet" if start.running else "it never logged a step"
    reached = f"it {'is at' if start.running else 'reached'} step {start.last_step:,}"
    return f"{reached}; {start.verdict}" if start.verdict else reached
