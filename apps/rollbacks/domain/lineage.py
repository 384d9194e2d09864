"""Which steps of which attempts are the past of an attempt, when every restart is a branch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Branch:
    """One attempt. fork_step: first step it logged after the restart; None for the first attempt
    and for one that has logged nothing yet."""

    number: int
    parent: int | None
    fork_step: int | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps of one attempt that belong to a history. up_to_step: inclusive; None: no upper end."""

    attempt: int
    up_to_step: int | None


def past(branches: Sequence[Branch], number: int) -> tuple[Stretch, ...]:
    """The stretches that led to attempt `number`, newest first; () for an unknown attempt.

    An attempt contributes up to the step at which the next one in the chain took over. A
    checkpoint saved at exactly the fork step counts as past: with steps counted from 0 a run that
    resumes from checkpoint 900 logs step 900 first. An attempt that has logged nothing yet does
    not limit its parent.
    """
    by_number = {branch.number: branch for branch in branches}
    found: list[Stretch] = []
    limit: int | None = None
    current: int | None = number
    while current in by_number and current not in {s.attempt for s in found}:
        branch = by_number[current]
        found.append(Stretch(branch.number, limit))
        limit = _lower(limit, branch.fork_step)
        current = branch.parent
    return tuple(found)


def contains(stretches: Sequence[Stretch], attempt: int, step: int) -> bool:
    """Whether `step` of `attempt` lies in this past."""
    return any(
        s.attempt == attempt and (s.up_to_step is None or step <= s.up_to_step) for s in stretches
    )


def _lower(first: int | None, second: int | None) -> int | None:
    known = [value for value in (first, second) if value is not None]
    return min(known) if known else None
