"""A run that has stopped learning although its schedule has not ended."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from apps.metrics.domain.reference import Band


@dataclass(frozen=True, slots=True)
class PlateauPolicy:
    """Loss curves are nearly straight over the logarithm of the steps: a power law gains as much
    (times 2^-a, a about 0.05 to 0.5) in each doubling. A doubling that gains less than `share` of
    what the one before it gained has stopped. gain: that must have been at least so much of what
    there is to lose, and `noises` robust standard deviations. min_rows: before the first verdict.
    rate_share: a learning rate that has decayed below it explains the end of learning.
    Source: Kaplan et al. 2020 (arXiv 2001.08361) for the shape; the share is measured on public
    series of the open half, of which none may be called.
    """

    min_rows: int = 512
    share: float = 0.02
    gain: float = 0.05
    noises: float = 1.5
    rate_share: float = 0.5


PER_DOUBLING = 4
"""Looks at the loss while the rows double."""


class PlateauState(msgspec.Struct):
    """levels: of the loss at rows that grow by 2^(1/4), the last ten. next_row: the
    next such row, counted from start_row."""

    levels: list[float] = []
    next_row: int = 64
    start_row: int = 0


def stopped(state: PlateauState, row: int, now: Band, policy: PlateauPolicy) -> bool | None:
    """Whether learning has stopped; None between the rows at which that is asked."""
    if row < state.next_row:
        return None
    state.levels.append(now.level)
    del state.levels[:-10]
    state.next_row = math.ceil(row * 2 ** (1 / PER_DOUBLING))
    back = PER_DOUBLING
    if row < policy.min_rows or len(state.levels) <= 2 * back:
        return None
    middle, first = state.levels[-1 - back], state.levels[-1 - 2 * back]
    before, after = first - middle, middle - now.level
    learning = before > policy.gain * now.reach and before > policy.noises * now.scale
    return learning and after < policy.share * before
