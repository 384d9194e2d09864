"""The one place that reads the clock."""

import time


def now_ns() -> int:
    """Unix time in nanoseconds, UTC."""
    return time.time_ns()
