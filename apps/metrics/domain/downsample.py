"""How many points a chart gets, and which."""

from __future__ import annotations

import numpy as np

from apps.core.plain import name_of
from apps.metrics.domain import tiers
from apps.metrics.domain.blocks import Floats, Ints
from apps.metrics.domain.tiers import Buckets

MAX_LEVEL = 62
MAX_NONFINITE = 1_000


def level_for(first_step: int, last_step: int, points: int) -> int:
    """The smallest k for which buckets of 2^k steps, aligned to 0, cover the range in `points`."""
    points = max(1, points)
    level = max(0, ((last_step - first_step + 1) // points).bit_length() - 1)
    while (last_step >> level) - (first_step >> level) + 1 > points and level < MAX_LEVEL:
        level += 1
    return level


def draw_buckets(buckets: Buckets, points: int) -> Buckets:
    """The buckets with finite values, merged to aligned ones only if there are more than `points`.

    Buckets hold min, max and last, so an outlier of one row survives any zoom. Non-finite values
    are in no bucket: see `nonfinite`.
    """
    finite = buckets.take(buckets.count > 0)
    if len(finite) <= points:
        return finite
    level = level_for(int(finite.step[0]), int(finite.step[-1]), points)
    return tiers.regroup(finite, max(level, buckets.level))


def nonfinite(step: Ints, value: Floats) -> list[tuple[int, str]]:
    """(step, "NaN" | "Infinity" | "-Infinity") of the first 1,000 values that are no numbers."""
    where = np.flatnonzero(~np.isfinite(value))
    where = where[np.argsort(step[where], kind="stable")][:MAX_NONFINITE]
    return [(int(step[at]), name_of(float(value[at]))) for at in where]
