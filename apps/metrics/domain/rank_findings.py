"""What all detectors of single ranks say alike."""

from __future__ import annotations

from typing import Any

from apps.core.records import Evidence, Finding, FindingSeverity
from apps.metrics.domain.rank_state import RankCase, StepVerdict, Told


def over(case: RankCase, told: Told, now: StepVerdict, text: str, **own: Any) -> Finding:
    """A finding that no longer holds: it accuses nobody and is over. now: the newest step.

    own: key, detector, kind and rule of the detector that had told it.
    """
    rule = own.pop("rule")
    return Finding(
        severity=FindingSeverity.INFO,
        attempt=case.attempt,
        onset_step=told.since_step,
        onset_time_ns=told.since_time_ns,
        seen_step=now.step,
        seen_time_ns=now.time_ns,
        title=f"taken back: {text}",
        series=case.series,
        rank=told.rank,
        closed_step=now.step,
        closed_time_ns=now.time_ns,
        evidence=(Evidence(text, time_ns=now.time_ns, step=now.step, rank=told.rank, weight=-1),),
        facts={"since_step": told.since_step, "ranks": now.ranks, "rule": rule},
        **own,
    )
