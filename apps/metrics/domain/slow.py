"""Slow divergence: the loss creeps away from the best it has reached, without a jump."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import msgspec

from apps.core.robust import MAD_TO_SD
from apps.metrics.domain.rolling import RollingMedian, median


@dataclass(frozen=True, slots=True)
class SlowPolicy:
    """window rows against the best earlier window that ended `window` rows ago.

    Above it by max(noise x robust sd of `noise_rows`, excess of what there is to lose) for `hold`
    rows running, between start_row and until_row. noise_far: where the rise is above `far`.
    noise_urgent: while the learning rate stands above all that its schedule had.
    Source: prototype rule of the loss-spike study (precision .87, recall .93 on 580,000 rows);
    `hold` shortened from 50, without a false alarm on the open half.
    """

    window: int = 100
    hold: int = 40
    noise_rows: int = 400
    start_row: int = 400
    noise: float = 1.2
    noise_urgent: float = 1.2
    excess: float = 0.03
    until_row: int = 10**9
    far: float = 0.1
    noise_far: float = 0.6


# For logs with few rows and for the first rows of a run: a short window that asks for more. The
# median of 30 rows is known to a quarter of a standard deviation.
SHORT = SlowPolicy(
    window=30,
    hold=12,
    noise_rows=120,
    start_row=90,
    until_row=2_000,
    noise=2.0,
    noise_urgent=1.0,
    excess=0.1,
    far=0.25,
    noise_far=1.2,
)


class SlowState(msgspec.Struct):
    """window: last rows. medians: window medians not yet old enough to be a best."""

    rows: int = 0
    window: list[float] = []
    noise: list[float] = []
    medians: list[float] = []
    best: float | None = None
    held: int = 0
    since_step: int = 0
    since_time_ns: int = 0


class SlowTest:
    """One slow-divergence test of a loss series; feed every finite row."""

    __slots__ = ("_medians", "_noise", "_policy", "_window", "state")

    def __init__(self, policy: SlowPolicy, state: SlowState | None = None) -> None:
        self._policy = policy
        self.state = state or SlowState()
        self._window = RollingMedian(policy.window, self.state.window)
        self._noise = deque(self.state.noise, maxlen=policy.noise_rows)
        self._medians = deque(self.state.medians)

    def feed(self, at: tuple[int, int], value: float, reach: float, *, urgent: bool) -> bool:
        """Take a finite row; True while the divergence has held long enough.

        at: (step, time_ns). reach: what there is to lose, see `reference.Band`; 0.0: not known.
        """
        policy, state = self._policy, self.state
        state.rows += 1
        if state.rows > policy.until_row:
            state.held = 0
            return False
        self._window.push(value)
        self._noise.append(value)
        if len(self._window) < policy.window:
            return False
        now = self._window.median()
        self._medians.append(now)
        if len(self._medians) > policy.window:
            old = self._medians.popleft()
            if state.best is None or old < state.best:
                state.best = old
        if state.best is None or state.rows < policy.start_row:
            return False
        if now <= state.best:
            state.held = 0
            return False
        above = (now - state.best) / (reach or abs(state.best) or 1.0)
        noise = policy.noise_far if above > policy.far else policy.noise
        noise = policy.noise_urgent if urgent else noise
        if above <= policy.excess or now - state.best <= noise * self._sd():
            state.held = 0
            return False
        if state.held == 0:
            state.since_step, state.since_time_ns = at
        state.held += 1
        return state.held >= policy.hold

    def start_attempt(self) -> None:
        """The best stays, the last rows do not: the first ones after a resume are a transient."""
        self._window = RollingMedian(self._policy.window)
        self._medians.clear()
        self.state.held = 0

    def median(self) -> float:
        """The median of the last `window` rows."""
        return self._window.median()

    def _sd(self) -> float:
        center = median(self._noise)
        return MAD_TO_SD * median(abs(v - center) for v in self._noise)

    def dump(self) -> SlowState:
        """The state, to store."""
        self.state.window = self._window.values()
        self.state.noise = list(self._noise)
        self.state.medians = list(self._medians)
        return self.state
