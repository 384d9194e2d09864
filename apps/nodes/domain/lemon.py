"""How often a host was to blame lately: its lemon score. Plain Python.

score(now) = sum over attempts of  weight * 2 ^ (-age / half-life)

An attempt counts once for a host, by the blame that weighs most by then; a weight is the confidence
of the verdict times the share of the blame that hardware may have (`incidents.domain.blaming`), so
one attempt adds at most 1 to all hosts together. All scores halve at the same pace: their order
never changes by time alone, and `log2_score` keeps what lists are sorted by.

Source: a decayed count of primary blames per host over jobs, after the lemon nodes of "Revisiting
Reliability in Large-Scale Machine Learning Research Clusters" (Kokolis et al. 2024). The half-life
is ours: a blame of a month ago counts a quarter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from apps.core.words import many

DAY_NS: Final = 86_400_000_000_000
NEVER: Final = -1e9
"""The log2_score of a host that nothing blames: below that of any other."""
WINDOW_D: Final = 30
"""What the words count."""


@dataclass(frozen=True, slots=True)
class LemonPolicy:
    """half_life_d: days after which a blame counts half."""

    half_life_d: float = 14.0


DEFAULT_POLICY: Final = LemonPolicy()


@dataclass(frozen=True, slots=True)
class Blame:
    """One incident blames a host. weight: 0..1. at_ns: when the fault began."""

    run_id: int
    attempt: int
    at_ns: int
    weight: float


def log2_score(blames: Iterable[Blame], policy: LemonPolicy = DEFAULT_POLICY) -> float:
    """log2 of what the score would be in 1970; NEVER without a blame that weighs anything.

    O(n), and exact however old the blames are: powers of two are added relative to the largest.
    """
    best: dict[tuple[int, int], float] = {}
    for blame in blames:
        if blame.weight > 0:
            height = math.log2(blame.weight) + _half_lives(blame.at_ns, policy)
            job = (blame.run_id, blame.attempt)
            best[job] = max(best.get(job, NEVER), height)
    if not best:
        return NEVER
    top = max(best.values())
    return top + math.log2(math.fsum(math.exp2(height - top) for height in best.values()))


def score_at(log2: float, now_ns: int, policy: LemonPolicy = DEFAULT_POLICY) -> float:
    """The score at a time: about the number of attempts it spoilt lately. 0 for NEVER."""
    return math.exp2(min(log2 - _half_lives(now_ns, policy), 1_000.0))


def _half_lives(time_ns: int, policy: LemonPolicy) -> float:
    return time_ns / (policy.half_life_d * DAY_NS)


@dataclass(frozen=True, slots=True)
class Record:
    """What the words count: attempts and runs of the last `days` that a host took part in, and in
    how many of them it was blamed."""

    blamed_attempts: int = 0
    blamed_runs: int = 0
    attempts: int = 0
    runs: int = 0
    days: int = WINDOW_D

    @property
    def words(self) -> str:
        """ "blamed in 3 of 11 attempts (2 of 4 runs) in 30 d"."""
        if not self.attempts and not self.blamed_attempts:
            return f"took part in no attempt in {self.days} d"
        attempts = many(max(self.attempts, self.blamed_attempts), "attempt")
        if not self.blamed_attempts:
            return f"not blamed in {attempts} in {self.days} d"
        runs = many(max(self.runs, self.blamed_runs), "run")
        blamed = f"{self.blamed_attempts} of {attempts} ({self.blamed_runs} of {runs})"
        return f"blamed in {blamed} in {self.days} d"
