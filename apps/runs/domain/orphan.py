"""Jobs that nobody seems to look after. Values only."""

from __future__ import annotations

ORPHAN_NS = 3_600_000_000_000
"""An hour without a step is longer than any save, evaluation or compilation that is usual."""
_HOLDING = ("running", "no_contact")


def orphaned(
    state: str, *, owner: str, last_row_ns: int | None, heard_ns: int | None, now_ns: int
) -> bool:
    """Whether ranks may burn GPUs for nothing: nothing says that the job has ended, it has made no
    step for ORPHAN_NS, and nobody has taken an incident of it.

    owner: who has, "" for nobody. last_row_ns: server or job time of the newest row; a job that
    never logged one is judged by when it was heard of.
    """
    if owner or state not in _HOLDING:
        return False
    newest_ns = last_row_ns if last_row_ns is not None else heard_ns
    return newest_ns is not None and now_ns - newest_ns > ORPHAN_NS
