"""Where a mirror goes on. Pure: what is known goes in, what to do comes out."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import msgspec

from workers.puller.records import Facts, Held, Mark, Saved


class Way(Enum):
    """begin: the run is new. resume: it went on after its end. continue: it goes on. back: its
    history is another one than what was mirrored, from some step on."""

    BEGIN = "begin"
    RESUME = "resume"
    CONTINUE = "continue"
    BACK = "back"


class Plan(msgspec.Struct, frozen=True):
    """What to do with a run: how to begin, and the step to read from."""

    way: Way
    first_step: int


def plan(facts: Facts, held: Held | None, saved: Saved, is_there: Callable[[Mark], bool]) -> Plan:
    """The plan for a run. is_there: whether the source has this very row (asked rarely)."""
    if held is None:
        return Plan(Way.BEGIN, 0)
    if held.newest is None:
        return Plan(Way.CONTINUE, saved.from_step)
    if not is_there(held.newest):
        return Plan(Way.BACK, common_step(saved.anchors, is_there) + 1)
    went_on = saved.ended and (facts.runs or saved.seen is None or facts.lines > saved.seen.lines)
    return Plan(Way.RESUME if went_on else Way.CONTINUE, held.newest.step + 1)


def common_step(anchors: list[Mark], is_there: Callable[[Mark], bool]) -> int:
    """The step of the newest anchor that the source still has; -1: none.

    About log2 of their number questions: what is below a row that is there is there too.
    """
    low, high = 0, len(anchors)
    while low < high:
        middle = (low + high) // 2
        if is_there(anchors[middle]):
            low = middle + 1
        else:
            high = middle
    return anchors[low - 1].step if low else -1


def kept_anchors(anchors: list[Mark], first_step: int) -> list[Mark]:
    """The anchors below the step at which a history begins anew."""
    return [mark for mark in anchors if mark.step < first_step]
