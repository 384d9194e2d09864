"""A median of the last n values that costs microseconds a value and survives a restart."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable
from itertools import pairwise


class RollingMedian:
    """The median of the last `size` values pushed.

    Values must be finite: a NaN would break the sorted order (callers keep non-finite values out).
    push is O(size) with the constant of a memmove, median is O(1).
    """

    __slots__ = ("_order", "_size", "_sorted")

    def __init__(self, size: int, values: Iterable[float] = ()) -> None:
        self._size = size
        self._order = deque(values, maxlen=size)
        self._sorted = sorted(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def push(self, value: float) -> None:
        """Add a value; the oldest leaves once the window is full."""
        order, ordered = self._order, self._sorted
        if len(order) == self._size:
            del ordered[bisect_left(ordered, order[0])]
        order.append(value)
        insort(ordered, value)

    def median(self) -> float:
        """The median, 0.0 for an empty window."""
        n = len(self._sorted)
        if n == 0:
            return 0.0
        half = n // 2
        if n % 2:
            return self._sorted[half]
        return 0.5 * self._sorted[half - 1] + 0.5 * self._sorted[half]

    def quantile(self, share: float) -> float:
        """The value that `share` of the window (0 to 1) lies below or at, 0.0 for an empty one."""
        n = len(self._sorted)
        return self._sorted[min(n - 1, int(share * n))] if n else 0.0

    def smallest_gap(self) -> float:
        """The smallest difference between two different values, 0.0 if all are the same."""
        gaps = [b - a for a, b in pairwise(self._sorted) if b > a]
        return min(gaps, default=0.0)

    def values(self) -> list[float]:
        """The window, oldest first: what to store to build the same window again."""
        return list(self._order)


def median(values: Iterable[float]) -> float:
    """The median of a handful of finite values, 0.0 for none. Faster than numpy below 50 values."""
    ordered = sorted(values)
    n = len(ordered)
    if n == 0:
        return 0.0
    half = n // 2
    return ordered[half] if n % 2 else 0.5 * ordered[half - 1] + 0.5 * ordered[half]
