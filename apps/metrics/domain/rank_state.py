"""What is remembered of ranks that are compared step by step."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from apps.metrics.domain.rank_signals import Meaning


@dataclass(frozen=True, slots=True)
class RankCase:
    """Which series of which attempt. known_ranks: how many ranks it should have, 0 if unknown."""

    attempt: int
    series: str
    known_ranks: int = 0
    meaning: Meaning = Meaning.LOSS


class StepVerdict(msgspec.Struct):
    """One logged step. ranks: how many have logged it. judged: they were enough to compare.

    apart: rank -> its value. scale: of this step alone. pace_s: how long the step was, 0 where
    nothing is timed.
    """

    step: int
    time_ns: int
    ranks: int
    judged: bool = False
    median: float = 0.0
    scale: float = 0.0
    apart: dict[int, float] = {}
    pace_s: float = 0.0


class Told(msgspec.Struct):
    """A stretch of a rank, as it was last reported. key_step: where it seemed to begin at first.

    seen_step, ranks: the step whose values were quoted, and how many ranks had logged it.
    closed_step: where the rank was back, or the report was taken back.
    """

    rank: int
    key_step: int
    since_step: int
    since_time_ns: int
    last_normal_step: int | None
    severity: str
    seen_step: int
    ranks: int
    closed_step: int | None = None
