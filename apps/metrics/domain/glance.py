"""What a list says of the curve of a run. Values only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

SPARK_POINTS = 60
SPAN_NS = 24 * 3_600_000_000_000
"""A glance looks back over so much of the job's own time."""


@dataclass(frozen=True, slots=True)
class Glance:
    """One attempt in a few numbers; None: not logged.

    loss: its newest value, may be NaN. spark: up to SPARK_POINTS values of the last SPAN_NS, oldest
    first, all finite. nonfinite: steps in that span whose loss was NaN or infinite. tokens_s: the
    newest, may be NaN or infinite; usual_tokens_s: the median of the span. goodput: of the last 24
    hours of the run, 0 to 1.
    """

    attempt: int
    loss: float | None = None
    spark: tuple[float, ...] = ()
    nonfinite: int = 0
    tokens_s: float | None = None
    usual_tokens_s: float | None = None
    goodput: float | None = None

    @property
    def tokens_change(self) -> float | None:
        """How far the newest tokens/s is from what is usual, as a ratio: -0.1 is a tenth less.
        None where it is no number: a step of no length logs infinite speed."""
        if self.tokens_s is None or not self.usual_tokens_s:
            return None
        change = self.tokens_s / self.usual_tokens_s - 1
        return change if math.isfinite(change) else None


def since_step(step: Sequence[int], time_ns: Sequence[int]) -> int | None:
    """The first step of the last SPAN_NS before the newest one; None if there is none.

    step, time_ns: of the buckets of one series, oldest first.
    """
    if not time_ns:
        return None
    begin_ns = time_ns[-1] - SPAN_NS
    return next(s for s, at_ns in zip(step, time_ns, strict=True) if at_ns >= begin_ns)


def spark(low: Sequence[float], high: Sequence[float], last: Sequence[float]) -> tuple[float, ...]:
    """One value a bucket: its last one, but the extreme that lies outside everything else.

    A spike of one step is the highest value of its bucket and seldom its last: it would vanish from
    a curve of last values. low, high, last: finite, of the same buckets.
    """
    if not last:
        return ()
    bottom, top = min(last), max(last)
    return tuple(
        peak if peak > top else dip if dip < bottom else value
        for dip, peak, value in zip(low, high, last, strict=True)
    )


def usual(values: Sequence[float]) -> float | None:
    """The median; None without a value."""
    return median(values) if values else None
