"""How often should a run save? Young, Daly, the exact optimum; the goodput of any interval. Pure.

Failures come at random with a mean of `mtbf_s` between two, during a restart as well. An interval
is the training time between two saves, without the pause that a save costs.
Sources: J. W. Young, CACM 17 (1974); J. T. Daly, FGCS 22 (2006); the exact form follows from
Daly's expected wall time by setting its derivative to zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MAX_EXPONENT: Final = 700.0
"""Beyond it `exp` overflows; a save that takes 700 MTBF never succeeds."""
_ROUNDS: Final = 60
_TINY: Final = 1e-13
_NOTHING: Final = 1e-16
"""So far below the MTBF expm1(x) is x."""
_HOPELESS: Final = 30.0
"""With a pause of so many MTBFs the optimum is one MTBF, to all digits of a float."""
_LLAMA3_GPU_HOURS: Final = 54 * 24 * 16_384 / 419
PUBLISHED_GPU_HOURS_PER_FAILURE: Final = round(_LLAMA3_GPU_HOURS, -2)
"""419 unexpected interruptions in 54 days on 16,384 H100 (Llama 3, arXiv 2407.21783)."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What saving and failing cost, in seconds.

    pause_s: training stands still for so long at each save. persist_s: a save is of no use before
    so long after its pause; 0 for a synchronous one. mtbf_s: of the whole job. restart_s: from a
    failure to the first new step: noticed, scheduled, started, loaded. Raises ValueError for
    values that are negative, not finite, or an MTBF of 0.
    """

    pause_s: float
    mtbf_s: float
    restart_s: float = 0.0
    persist_s: float = 0.0

    def __post_init__(self) -> None:
        values = (self.pause_s, self.mtbf_s, self.restart_s, self.persist_s)
        if not all(math.isfinite(value) and value >= 0 for value in values) or not self.mtbf_s:
            raise ValueError(f"costs must be finite and at least 0, the MTBF above: {self}")


@dataclass(frozen=True, slots=True)
class Advice:
    """The best interval and what it brings. goodput: share of the wall time that is progress."""

    best_s: float
    goodput: float
    young_s: float
    daly_s: float


def young_s(costs: Costs) -> float:
    """sqrt(2 d M): good while the pause is far below the MTBF."""
    return math.sqrt(2 * costs.pause_s * costs.mtbf_s)


def daly_s(costs: Costs) -> float:
    """Daly's higher-order estimate; M for a pause of 2 M or more."""
    d, m = costs.pause_s, costs.mtbf_s
    if d >= 2 * m:
        return m
    part = d / (2 * m)
    return math.sqrt(2 * d * m) * (1 + math.sqrt(part) / 3 + part / 9) - d


def exact_s(costs: Costs) -> float:
    """M (1 + W0(-exp(-d/M - 1))), the interval with the highest goodput if nothing bounds it."""
    x = costs.pause_s / costs.mtbf_s
    if x > _HOPELESS:
        return costs.mtbf_s
    # u = 1 + W0 solves u + ln(1 - u) = -x; Newton from below, where the function is concave.
    u = 1 - math.exp(-1 - x) if x > 1 else math.sqrt(2 * x) * (1 - math.sqrt(2 * x) / 3)
    for _ in range(_ROUNDS):
        if u <= 0:
            return 0.0
        step = (u + math.log1p(-u) + x) * (1 - u) / u
        u = min(max(u + step, u / 2), (1 + u) / 2)
        if abs(step) <= _TINY * u:
            break
    return costs.mtbf_s * u


def goodput(interval_s: float, costs: Costs) -> float:
    """The expected share of the wall time that becomes kept progress, 0 to 1.

    tau e^(-P/M) / (M e^(R/M) (e^((tau + d)/M) - 1)): exact for failures at random. Of a save that
    is written in the background, the last one is lost with probability 1 - e^(-P/M); the usual
    first-order formula leaves out that it may take several and is 0.2 to 0.8 points higher.
    An interval below the time to persist is as good as that time: saves would overtake each other.
    Saves that cost nothing leave the restarts alone to pay for, however short the interval.
    """
    tau = max(interval_s, costs.persist_s)
    cycle = (tau + costs.pause_s) / costs.mtbf_s
    around = (costs.restart_s + costs.persist_s) / costs.mtbf_s
    if cycle + around > MAX_EXPONENT:
        return 0.0
    if cycle <= _NOTHING:
        return math.exp(-around) * (tau / (tau + costs.pause_s) if costs.pause_s else 1.0)
    return tau / (costs.mtbf_s * math.exp(around) * math.expm1(cycle))


def advise(costs: Costs) -> Advice:
    """The best interval for these costs; at least the time to persist."""
    best = max(exact_s(costs), costs.persist_s)
    return Advice(best, goodput(best, costs), young_s(costs), daly_s(costs))


def curve(costs: Costs, intervals_s: Sequence[float]) -> tuple[float, ...]:
    """The goodput of each interval."""
    return tuple(goodput(one, costs) for one in intervals_s)


def ladder(around_s: float, count: int = 61, span: float = 30.0) -> tuple[float, ...]:
    """Intervals evenly spaced on a log scale, from around_s / span to around_s x span."""
    low, high = math.log(around_s / span), math.log(around_s * span)
    return tuple(math.exp(low + (high - low) * i / (count - 1)) for i in range(count))


@dataclass(frozen=True, slots=True)
class Failures:
    """The mean time between failures and the range it lies in with 90 %.

    low_s, high_s: what a Poisson process with so many failures allows; high_s is infinite
    without any. mean_s: None without any.
    """

    count: int
    observed_s: float
    mean_s: float | None
    low_s: float
    high_s: float


def failures(count: int, observed_s: float) -> Failures:
    """What `count` failures in a time say of the mean time between two. count >= 0, time > 0.

    Exact limits of Garwood (1936), by bisection: O(count).
    """
    mean = observed_s / count if count else None
    most = _expected(count, 0.05)
    least = _expected(count - 1, 0.95) if count else 0.0
    high = observed_s / least if least else math.inf
    return Failures(count, observed_s, mean, observed_s / most, high)


def _expected(count: int, chance: float) -> float:
    """The expected number of events with which at most `count` come with this chance."""
    low, high = 0.0, count + 4.0 * math.sqrt(count + 1) + 4.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(count, middle) > chance else (low, middle)
    return (low + high) / 2


def _at_most(count: int, expected: float) -> float:
    """The chance of at most `count` events of a Poisson process."""
    logs = (n * math.log(expected) - expected - math.lgamma(n + 1) for n in range(count + 1))
    return math.fsum(map(math.exp, logs))


def scaled_mtbf_s(gpu_hours_per_failure: float, gpus: int) -> float:
    """The MTBF of a job of so many GPUs that fail independently of each other."""
    return gpu_hours_per_failure * 3_600 / gpus
