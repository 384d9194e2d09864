"""Jobs that nobody seems to look after. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ORPHAN_NS = 3_600_000_000_000
"""An hour without a step is longer than any save, evaluation or compilation that is usual, and in
an hour somebody who has just begun has taken the run or said who is to be told."""
_HOLDING = ("running", "no_contact")


class Orphan(StrEnum):
    """Why a run is one: its ranks stand still, or nobody would hear of it."""

    STALLED = "stalled"
    UNHEARD = "unheard"


@dataclass(frozen=True, slots=True)
class Care:
    """Who looks after a run, as far as anything says.

    state: of the run. owner: who has taken it. taken_by: who has taken an incident of it.
    started_by: whom its own process names. "" for nobody. told: its pages reach somebody.
    started_ns: when its newest attempt began. last_row_ns: server or job time of the newest row; a
    job that never logged one is judged by when it was heard of.
    """

    state: str
    owner: str
    taken_by: str
    started_by: str
    told: bool
    started_ns: int | None
    last_row_ns: int | None
    heard_ns: int | None


def orphan(care: Care, now_ns: int) -> Orphan | None:
    """Whether ranks may burn GPUs for nothing, and why; None if somebody looks after it.

    Nothing says that the job has ended, and nobody has taken it or an incident of it. Then it is
    one if it made no step for ORPHAN_NS, or if it runs for that long while nobody is known to have
    started it and no message about it would reach anybody.
    """
    if care.owner or care.taken_by or care.state not in _HOLDING:
        return None
    newest_ns = care.last_row_ns if care.last_row_ns is not None else care.heard_ns
    if newest_ns is not None and now_ns - newest_ns > ORPHAN_NS:
        return Orphan.STALLED
    if care.started_by or care.told or care.started_ns is None:
        return None
    return Orphan.UNHEARD if now_ns - care.started_ns > ORPHAN_NS else None
