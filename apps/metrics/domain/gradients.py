"""A gradient norm that stays many times its usual value: it leads the loss by a few rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from apps.metrics.domain.rolling import RollingMedian, median


@dataclass(frozen=True, slots=True)
class GradientPolicy:
    """The median of the last `rows` rows against the median of the `window` rows before.

    Only ratios to the series' own past: absolute norms differ by six orders between runs. A norm
    that is restless by itself must go further: by `page_spreads` times the distance of its 84th
    percentile from the median, as logarithms (norms spread like that). growing_rows rows beyond the
    ratio, each `growth` times the one before, page at once.
    Source: factor 5 of the loss-spike study; the 5-row median of healthy public runs never passed
    2.4 times the usual norm, that of badly tuned own runs 3.4 times. BLOOM-176B: 0.24, 0.95, 2.4,
    15.9, 145, 960 in six rows. A classifier close to zero loss has a spread of a factor 3.
    """

    window: int = 200
    rows: int = 5
    min_rows: int = 60
    page_ratio: float = 5.0
    page_spreads: float = 4.5
    calm_ratio: float = 3.0
    growing_rows: int = 3
    growth: float = 1.5
    settle_rows: int = 1000


class GradientState(msgspec.Struct):
    """window: the last norms. recent: the last ratios. since_*: first row of the high stretch."""

    window: list[float] = []
    recent: list[float] = []
    since_step: int = 0
    since_time_ns: int = 0


class GradientTest:
    """The gradient test of one series; feed every finite norm."""

    __slots__ = ("_policy", "_window", "state")

    def __init__(self, policy: GradientPolicy, state: GradientState | None = None) -> None:
        self._policy = policy
        self.state = state or GradientState()
        self._window = RollingMedian(policy.window, self.state.window)

    def usual(self) -> float:
        """The median norm of the window."""
        return self._window.median()

    def feed(self, step: int, time_ns: int, norm: float, *, frozen: bool) -> float:
        """Take a norm; how many times the usual norm the last rows are. 0.0 before min_rows.

        frozen: leave the past as it is, so that it does not learn the trouble.
        """
        policy, state = self._policy, self.state
        usual = self._window.median()
        known = len(self._window) >= policy.min_rows and usual > 0
        ratio = norm / usual if known else 0.0
        if ratio > policy.calm_ratio and not (
            state.recent and state.recent[-1] > policy.calm_ratio
        ):
            state.since_step, state.since_time_ns = step, time_ns
        state.recent.append(ratio)
        del state.recent[: -policy.rows]
        if not frozen:
            self._window.push(norm)
        return median(state.recent) if len(state.recent) == policy.rows else 0.0

    def now(self) -> float:
        """How many times the usual norm the last three rows are, 0.0 if not known."""
        return median(self.state.recent[-3:])

    def loud(self, ratio: float) -> bool:
        """Whether the last rows need a person. ratio: what `feed` gave."""
        policy = self._policy
        last = self.state.recent[-policy.growing_rows :]
        if len(last) < policy.growing_rows or max(ratio, min(last)) <= policy.page_ratio:
            return False
        limit = max(policy.page_ratio, _power(self._spread(), policy.page_spreads))
        return ratio > limit or (self.growing() and min(last) > limit)

    def growing(self) -> bool:
        """Whether the last rows each are well above the one before."""
        last = self.state.recent[-self._policy.growing_rows :]
        return all(b > self._policy.growth * a for a, b in pairwise(last))

    def _spread(self) -> float:
        usual = self._window.median()
        return self._window.quantile(0.84) / usual if usual > 0 else 1.0

    def dump(self) -> GradientState:
        """The state, to store."""
        self.state.window = self._window.values()
        return self.state


def _power(spread: float, exponent: float) -> float:
    """A norm that spreads over hundreds of decades has no limit that a number can hold."""
    return math.exp(min(700.0, exponent * math.log(spread))) if spread > 1 else 1.0
