"""Which attempts a run's history runs through, and which one holds a step. Pure."""

from __future__ import annotations

from collections.abc import Collection

from apps.rollbacks.domain.lineage import Branch, past
from apps.runs.records import AttemptInfo


def newest_of(attempts: Collection[AttemptInfo]) -> int:
    """The newest attempt that has rows or was set back to a step; -1 if there is none."""
    begun = (a.number for a in attempts if a.first_step is not None or a.fork_step is not None)
    return max(begun, default=-1)


def line_to(attempts: Collection[AttemptInfo], tip: int) -> list[AttemptInfo]:
    """The attempts that led to `tip`, newest first; none for an unknown one."""
    known = {attempt.number: attempt for attempt in attempts}
    branches = [Branch(a.number, a.parent, a.fork_step) for a in attempts]
    return [known[stretch.attempt] for stretch in past(branches, tip)]


def holder(attempts: Collection[AttemptInfo], step: int) -> int | None:
    """The attempt that a run goes on from after `step`; None if none of them holds it.

    That of the run's history, else the newest of those that were given up. A step between those
    that were logged is held, one before the first or beyond the last is not.
    """
    line = line_to(attempts, newest_of(attempts))
    ends = [a.last_step for a in line if a.last_step is not None]
    in_line = [a for a in line if _begins_before(a, step)] if ends and step <= ends[0] else []
    given_up = [
        a
        for a in sorted(attempts, key=lambda a: -a.number)
        if _begins_before(a, step) and a.last_step is not None and step <= a.last_step
    ]
    return next((a.number for a in [*in_line, *given_up]), None)


def _begins_before(attempt: AttemptInfo, step: int) -> bool:
    """Whether the attempt begins at the step or before: with its fork, which its first row may
    come after."""
    if attempt.first_step is None:
        return False
    begin = attempt.first_step if attempt.fork_step is None else attempt.fork_step
    return min(begin, attempt.first_step) <= step
