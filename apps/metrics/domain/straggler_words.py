"""What is said of a rank that makes all others wait: which part of a step, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.core.records import Evidence, Finding, FindingSeverity, Suspect
from apps.core.words import number
from apps.metrics.domain.rank_findings import over
from apps.metrics.domain.rank_signals import Meaning
from apps.metrics.domain.rank_state import RankCase, StepVerdict, Told
from apps.metrics.domain.rolling import median

DETECTOR = "metrics.straggler"
KIND = "straggler"
FAULT_CLASS = "straggler"
CONFIDENCE = 0.8
FROM_START_CONFIDENCE = 0.5
"""A rank that was never as fast as its peers may simply have other work."""
RULE = (
    "6 robust standard deviations and 5 % of a step slower than the median of the ranks at 4 of 5 "
    "logged steps"
)
_NEEDS = {
    Meaning.DATA: "needs {more} longer to get its data",
    Meaning.COMPUTE: "computes {more} longer",
    Meaning.COMMUNICATION: "waits {more} less for the others, so they wait for it",
}


@dataclass(frozen=True, slots=True)
class Cost:
    """What a slow rank adds to a step, to how long a step, and for how many of them."""

    extra_s: float
    pace_s: float
    steps: int

    @property
    def share(self) -> float:
        """The part of a step that is lost."""
        return self.extra_s / self.pace_s if self.pace_s > 0 else 0.0

    def gpu_hours(self, ranks: int) -> float:
        """GPU-hours that so many ranks have waited."""
        return self.extra_s * self.steps * ranks / 3600


def cost_of(judged: Sequence[StepVerdict], rank: int) -> Cost:
    """The usual cost of a rank over the steps at which it was slow; 0 without one.

    judged: by step. Between two logged steps the rank is taken to be as slow as at the first.
    """
    slow = [at for at, verdict in enumerate(judged) if rank in verdict.apart]
    if not slow:
        return Cost(0.0, 0.0, 0)
    until = judged[min(slow[-1] + 1, len(judged) - 1)].step
    extra = median([abs(judged[at].apart[rank] - judged[at].median) for at in slow])
    pace = median([judged[at].pace_s for at in slow])
    return Cost(extra, pace, until - judged[slow[0]].step)


def finding(
    case: RankCase, told: Told, seen: tuple[StepVerdict, StepVerdict | None], cost: Cost
) -> Finding:
    """The finding of a slow stretch. seen: the quoted step, and where the rank was back."""
    here, end = seen
    needs = _NEEDS[case.meaning].format(more=f"{number(cost.extra_s)} s")
    until = "" if end is None else f", until step {told.since_step + cost.steps:,}"
    last = here if end is None else end
    ranks = max(case.known_ranks, here.ranks)
    lost = cost.gpu_hours(ranks)
    evidence = (_values(case, told, here), _waiting(told, cost, lost, ranks))
    sure = CONFIDENCE if told.last_normal_step is not None else FROM_START_CONFIDENCE
    return Finding(
        key=_key(case, told),
        detector=DETECTOR,
        kind=KIND,
        severity=FindingSeverity(told.severity),
        attempt=case.attempt,
        onset_step=told.since_step,
        onset_time_ns=told.since_time_ns,
        seen_step=last.step,
        seen_time_ns=last.time_ns,
        title=f"slow rank {told.rank}: since step {told.since_step:,} it "
        f"{needs} each step ({100 * cost.share:.0f} % of it){until}",
        series=case.series,
        rank=told.rank,
        closed_step=None if end is None else end.step,
        closed_time_ns=None if end is None else end.time_ns,
        evidence=evidence,
        suspects=(Suspect(told.rank, None, FAULT_CLASS, sure, evidence),),
        facts=_facts(case, told, here, cost) | {"lost_gpu_hours": lost},
    )


def _facts(case: RankCase, told: Told, here: StepVerdict, cost: Cost) -> dict[str, Any]:
    return {
        "part": case.meaning.value,
        "value": here.apart.get(told.rank),
        "median_of_others": here.median,
        "extra_s": cost.extra_s,
        "lost_ratio": cost.share,
        "since_step": told.since_step,
        "last_normal_step": told.last_normal_step,
        "ranks": here.ranks,
        "rule": RULE,
    }


def taken_back(case: RankCase, told: Told, now: StepVerdict) -> Finding:
    """The same finding when late lines disproved it: it accuses nobody and is over."""
    text = f"rank {told.rank} is as fast as the {now.ranks} ranks that have come by now"
    key = _key(case, told)
    return over(case, told, now, text, key=key, detector=DETECTOR, kind=KIND, rule=RULE)


def _key(case: RankCase, told: Told) -> str:
    return f"straggler:{case.series}:a{case.attempt}:r{told.rank}:s{told.key_step}"


def _values(case: RankCase, told: Told, here: StepVerdict) -> Evidence:
    text = f"rank {told.rank}: {case.series} {number(here.apart.get(told.rank))} s, "
    text += f"the median of {here.ranks} ranks is {number(here.median)} s"
    return Evidence(text, time_ns=here.time_ns, step=here.step, rank=told.rank)


def _waiting(told: Told, cost: Cost, lost: float, ranks: int) -> Evidence:
    text = f"slow since step {told.since_step:,}; a step takes {number(cost.pace_s)} s on all "
    text += f"{ranks:,} ranks, and {number(lost)} GPU-hours were waited so far"
    return Evidence(text, time_ns=told.since_time_ns, step=told.since_step, rank=told.rank)
