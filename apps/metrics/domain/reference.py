"""The recent past of a series as a band: a level and a scale that healthy outliers cannot move."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import msgspec

from apps.core.robust import MAD_TO_SD
from apps.metrics.domain.rolling import RollingMedian, median


class ReferenceState(msgspec.Struct):
    """What a Reference needs to be built again: its windows, oldest value first."""

    rows: int = 0
    level: list[float] = []
    fast: list[float] = []
    deviation: list[float] = []
    trend: list[float] = []
    grain: float = 0.0
    firsts: list[float] = []
    lowest: float | None = None


SPENT_SHARE = 0.02
"""Of all that was learnt: a language model ends at a third, a classifier below."""


class Band(NamedTuple):
    """level: where the series was. scale: one robust standard deviation around it (> 0).

    learnt: how far the level has come down since the first rows. reach: what there is to lose, the
    measure of every share: the level, or REACH_SHARE of `learnt` where that is more, and towards
    zero all of `learnt`. Nats, bits and sums look alike in it, and a loss near zero or below it has
    a measure at all.
    """

    level: float
    scale: float
    reach: float
    learnt: float = 0.0

    def z(self, value: float) -> float:
        """Distance of a value from the level in scales."""
        return (value - self.level) / self.scale

    def spent(self) -> bool:
        """Whether the loss is so close to zero that hardly anything is left to be learnt."""
        return self.level < SPENT_SHARE * self.learnt

    def excess(self, value: float) -> float:
        """Distance from the level as a share of what there is to lose."""
        return (value - self.level) / self.reach


class Reference:
    """Level and scale of a series over the rows pushed; the caller leaves out rows of an episode.

    level: the median of the last 50 rows; in the first 400 rows the smaller of that and the median
    of the last 15, so that the steep first descent does not hide a jump below an old, high median.
    scale: 1.4826 x the median absolute deviation of the last 200 rows from the 15-row median before
    each (which follows a descent), at least 0.2 % of the level and at least the smallest difference
    between two values: a log rounded to one decimal or to bf16 has a deviation of 0 for long. A
    loss below a tenth of what was learnt (a classifier) has heavy tails, of which the median knows
    nothing: the scale is then at least the 95th percentile of these deviations over that of a
    normal distribution.
    Source: windows of the loss-spike study of 58 public logs; small trainings of `bench spikes`.
    """

    LEVEL_ROWS = 50
    FAST_ROWS = 15
    SCALE_ROWS = 200
    DESCENT_ROWS = 400
    TREND_ROWS = 100
    TREND_SHARE = 0.5
    GRAIN_EVERY = 16
    FLOOR_RATIO = 0.002
    TAIL_SHARE = 0.95
    TAIL_SDS = 1.96
    TAIL_LEVEL = 0.1
    FIRST_ROWS = 10
    REACH_SHARE = 0.25
    NEAR_ZERO = 10.0

    __slots__ = (
        "_band", "_deviation", "_fast", "_first", "_firsts", "_grain", "_level", "_lowest", "_rows",
        "_trend",
    )  # fmt: skip

    def __init__(self, state: ReferenceState | None = None) -> None:
        state = state or ReferenceState()
        self._rows = state.rows
        self._level = RollingMedian(self.LEVEL_ROWS, state.level)
        self._fast = RollingMedian(self.FAST_ROWS, state.fast)
        self._deviation = RollingMedian(self.SCALE_ROWS, state.deviation)
        self._trend = deque(state.trend, maxlen=self.TREND_ROWS)
        self._grain = state.grain
        self._firsts, self._lowest = list(state.firsts), state.lowest
        self._first = median(self._firsts) if self._firsts else None
        self._band: Band | None = None

    @classmethod
    def after(cls, old: Reference) -> Reference:
        """A new past that still knows how much was learnt."""
        return cls(ReferenceState(firsts=old._firsts, lowest=old._lowest))

    def moved(self, factor: float, offset: float, *, unit: bool) -> Reference:
        """The same past at another level: every value times `factor`, plus `offset`.

        unit: so is what was learnt, since the loss is measured in another unit.
        """
        state = self.state()

        def moved(values: list[float]) -> list[float]:
            return [factor * value + offset for value in values]

        return Reference(
            ReferenceState(
                rows=state.rows,
                level=moved(state.level),
                fast=moved(state.fast),
                deviation=[factor * value for value in state.deviation],
                trend=moved(state.trend),
                grain=factor * state.grain,
                firsts=moved(state.firsts) if unit else state.firsts,
                lowest=factor * state.lowest + offset if unit and state.lowest else state.lowest,
            )
        )

    def note_outlier(self, value: float) -> None:
        """Remember how far out a value was, without letting it move the level."""
        self._deviation.push(abs(value - self._fast.median()))
        self._band = None

    def level(self) -> float:
        """Where the series is now, 0.0 before the first value."""
        slow = self._level.median()
        return min(slow, self._fast.median()) if self._rows < self.DESCENT_ROWS else slow

    def band(self, min_rows: int) -> Band | None:
        """The band of the rows so far, None before `min_rows` of them."""
        if self._band is not None or len(self._deviation) < min_rows:
            return self._band
        self._band = self._fresh_band()
        return self._band

    def _fresh_band(self) -> Band:
        level = self.level()
        floor = max(self.FLOOR_RATIO * abs(level), self._grain, 1e-12)
        scale, learnt = max(MAD_TO_SD * self._deviation.median(), floor), self.learnt()
        if level < self.TAIL_LEVEL * learnt:
            scale = max(scale, self._deviation.quantile(self.TAIL_SHARE) / self.TAIL_SDS)
        return Band(level, scale, self._reach(level, learnt) or scale, learnt)

    def reach(self) -> float:
        """What there is to lose at the present level, see Band; 0.0 before the first value."""
        return self._reach(self.level(), self.learnt())

    def _reach(self, level: float, learnt: float) -> float:
        return max(abs(level), self.REACH_SHARE * learnt, learnt - self.NEAR_ZERO * abs(level))

    def lowest(self) -> float:
        """The lowest level so far; plus infinity before the first value."""
        return math.inf if self._lowest is None else self._lowest

    def learnt(self) -> float:
        """How far the level has come down from the first rows (>= 0)."""
        if self._first is None or self._lowest is None:
            return 0.0
        return max(0.0, self._first - self._lowest)

    def descent_per_row(self) -> float:
        """How much the level can be expected to fall per row (<= 0).

        Half of what the two halves of the last 100 rows fell by: curves flatten.
        """
        values = list(self._trend)
        if len(values) < self.TREND_ROWS:
            return 0.0
        half = self.TREND_ROWS // 2
        fall = (median(values[half:]) - median(values[:half])) / half
        return min(0.0, self.TREND_SHARE * fall)

    def push(self, value: float) -> None:
        """Take a finite, healthy value into the past."""
        if self._rows:
            self._deviation.push(abs(value - self._fast.median()))
        if len(self._firsts) < self.FIRST_ROWS:
            self._firsts.append(value)
            self._first = median(self._firsts)
        self._band = None
        self._rows += 1
        self._level.push(value)
        self._fast.push(value)
        self._trend.append(value)
        fast = self._fast.median()
        if self._lowest is None or fast < self._lowest:
            self._lowest = fast
        if self._rows % self.GRAIN_EVERY == 0:
            self._grain = self._level.smallest_gap()

    def state(self) -> ReferenceState:
        """The windows, to store."""
        return ReferenceState(
            self._rows,
            self._level.values(),
            self._fast.values(),
            self._deviation.values(),
            list(self._trend),
            self._grain,
            self._firsts,
            self._lowest,
        )
