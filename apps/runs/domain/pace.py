"""How long a step takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NS_PER_S = 1_000_000_000


def median_step_s(step: Sequence[int], time_ns: Sequence[int]) -> float | None:
    """Median seconds a step took; steps strictly increasing, one row may stand for many steps.

    None with fewer than two rows. The median ignores pauses for checkpoints and evaluations.
    """
    if len(step) < 2:
        return None
    steps = np.diff(np.asarray(step, dtype=np.int64))
    seconds = np.diff(np.asarray(time_ns, dtype=np.int64)) / NS_PER_S
    forward = steps > 0
    return float(np.median(seconds[forward] / steps[forward])) if forward.any() else None
