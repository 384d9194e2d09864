"""Location and scale that a few wild values cannot move."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MAD_TO_SD = 1.4826
"""Median absolute deviation -> standard deviation of a normal distribution."""


def center_and_scale(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Median and robust standard deviation of at least one value, all finite. O(n log n).

    The scale may be 0: callers set a floor that fits what they measure.
    """
    center = float(np.median(values))
    return center, MAD_TO_SD * float(np.median(np.abs(values - center)))
