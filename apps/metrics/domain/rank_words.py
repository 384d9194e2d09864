"""What the rank detector says: findings that name the rank, with values a person can check."""

from __future__ import annotations

import math

from apps.core.records import Evidence, Finding, FindingSeverity, Suspect
from apps.core.words import number
from apps.metrics.domain.rank_findings import over
from apps.metrics.domain.rank_signals import Meaning
from apps.metrics.domain.rank_state import RankCase, StepVerdict, Told
from apps.metrics.domain.reports import fact

DETECTOR = "metrics.rank_outlier"
KIND = "rank_outlier"
FAULT_CLASS = "silent_data_corruption"
CONFIDENCE = 0.8
"""Same weights and clip, other result: memory or arithmetic. Bad samples would not stay bad."""
SIGNAL_CONFIDENCE = 0.5
"""Another number than the loss may differ between ranks for reasons of its own."""
RULE = (
    "local loss beyond 6 robust standard deviations and 25 % of the median of the ranks at 2 of 3 "
    "logged steps"
)
SIGNAL_RULE = "beyond 10 robust standard deviations of the ranks at 4 of 5 logged steps"


def finding(case: RankCase, told: Told, here: StepVerdict, end: StepVerdict | None) -> Finding:
    """The finding of a stretch. here: the quoted step; end: where the rank was back, if it is."""
    value, back = here.apart.get(told.rank), "" if end is None else f", back by step {end.step}"
    evidence = (_values(case, told, here), _stretch(told))
    return Finding(
        key=_key(case, told),
        detector=DETECTOR,
        kind=KIND,
        severity=FindingSeverity(told.severity),
        attempt=case.attempt,
        onset_step=told.since_step,
        onset_time_ns=told.since_time_ns,
        seen_step=here.step,
        seen_time_ns=here.time_ns,
        title=f"rank {told.rank} stands apart from its peers since step {told.since_step} "
        f"({case.series} {number(value)} against {number(here.median)}){back}",
        series=case.series,
        rank=told.rank,
        closed_step=None if end is None else end.step,
        closed_time_ns=None if end is None else end.time_ns,
        evidence=evidence,
        suspects=(Suspect(told.rank, None, FAULT_CLASS, _confidence(case), evidence),),
        facts={
            "value": fact(value),
            "median_of_others": here.median,
            "z": fact(_z(value, here)),
            "since_step": told.since_step,
            "last_normal_step": told.last_normal_step,
            "ranks": here.ranks,
            "rule": rule_of(case),
        },
    )


def taken_back(case: RankCase, told: Told, now: StepVerdict) -> Finding:
    """The same finding when it no longer holds: it accuses nobody and is over. now: newest step."""
    text = f"rank {told.rank} does not stand apart from the {now.ranks} ranks that have come by now"
    return _over(case, told, now, text)


def renamed(case: RankCase, told: Told, now: StepVerdict) -> Finding:
    """The same finding when another series has become the loss of the ranks."""
    text = f"{case.series} is no longer the loss of the ranks"
    return _over(case, told, now, f"{text}, so it says nothing about rank {told.rank}")


def rule_of(case: RankCase) -> str:
    """What was tested, in words."""
    return RULE if case.meaning is Meaning.LOSS else f"{case.series} {SIGNAL_RULE}"


def _confidence(case: RankCase) -> float:
    return CONFIDENCE if case.meaning is Meaning.LOSS else SIGNAL_CONFIDENCE


def _key(case: RankCase, told: Told) -> str:
    """Losses keep the keys they had before other series were judged."""
    of = "" if case.meaning is Meaning.LOSS else f":{case.series}"
    return f"rank{of}:a{case.attempt}:r{told.rank}:s{told.key_step}"


def _over(case: RankCase, told: Told, now: StepVerdict, text: str) -> Finding:
    own = {"key": _key(case, told), "detector": DETECTOR, "kind": KIND, "rule": rule_of(case)}
    return over(case, told, now, text, **own)


def _values(case: RankCase, told: Told, here: StepVerdict) -> Evidence:
    others = f"the other {here.ranks - 1} ranks"
    if here.ranks < case.known_ranks:
        others += f" that have come so far (of {case.known_ranks - 1})"
    text = f"rank {told.rank}: {case.series} {number(here.apart.get(told.rank))}, {others} have "
    text += f"the median {number(here.median)}"
    return Evidence(text, time_ns=here.time_ns, step=here.step, rank=told.rank)


def _stretch(told: Told) -> Evidence:
    text = f"apart from its peers since step {told.since_step}, normal until step "
    text += f"{told.last_normal_step}"
    return Evidence(text, time_ns=told.since_time_ns, step=told.since_step, rank=told.rank)


def _z(value: float | None, here: StepVerdict) -> float | None:
    if value is None or not math.isfinite(value) or not here.scale:
        return None
    return (value - here.median) / here.scale
