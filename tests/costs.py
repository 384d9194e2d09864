"""How work grows with its size: ratios of CPU times of this thread, so that a busy machine changes
nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

TRIES = 3


def cost_s(work: Callable[[], object]) -> float:
    """The least CPU time of a few tries."""
    return min(_timed(work) for _ in range(TRIES))


def _timed(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began
