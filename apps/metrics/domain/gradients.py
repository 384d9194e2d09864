"""A gradient norm that stays many times its usual value: it leads the loss by a few rows."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from apps.metrics.domain.rolling import RollingMedian, median


@dataclass(frozen=True, slots=True)
class GradientPolicy:
    """The median of the last `rows` rows against the median of the `window` rows before.

    Only ratios to the series' own past: absolute norms differ by six orders between runs.
    Source: factor 5 of the loss-spike study; the 5-row median of healthy public runs never
    passed 2.4 times the usual norm, that of badly tuned own runs 3.4 times.
    """

    window: int = 200
    rows: int = 5
    min_rows: int = 60
    page_ratio: float = 5.0
    calm_ratio: float = 3.0
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

    def dump(self) -> GradientState:
        """The state, to store."""
        self.state.window = self._window.values()
        return self.state
