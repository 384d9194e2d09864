"""The smallest valid findings and incidents, and those of the recorded runs."""

from __future__ import annotations

from typing import Any

from apps.core.records import Evidence, Finding, FindingSeverity, Suspect
from apps.incidents.domain.incident import IncidentInfo, IncidentState

T0 = 1_750_000_000_000_000_000
SECOND = 1_000_000_000
PAGE, WARN, INFO = FindingSeverity.PAGE, FindingSeverity.WARN, FindingSeverity.INFO


def at(step: int) -> int:
    """The time of a step in a run that makes one step a second."""
    return T0 + step * SECOND


def finding(
    key: str = "f",
    kind: str = "explosion",
    step: int | None = 1001,
    severity: FindingSeverity = PAGE,
    **fields: Any,
) -> Finding:
    """A finding that opened at `step`."""
    onset = at(step) if step is not None else T0
    values: dict[str, Any] = {
        "key": key,
        "detector": "spikes",
        "kind": kind,
        "severity": severity,
        "attempt": 0,
        "onset_step": step,
        "onset_time_ns": onset,
        "seen_step": None if step is None else step + 2,
        "seen_time_ns": onset + 2 * SECOND,
        "title": f"{kind} at {step}",
        **fields,
    }
    return Finding(**values)


def ended(after: int = 5, step: int = 1001) -> dict[str, int]:
    """Fields of a finding whose episode ended `after` steps behind its onset."""
    return {"closed_step": step + after, "closed_time_ns": at(step + after)}


def explosion(**fields: Any) -> Finding:
    """What the detector says about the recorded run `lrbump`."""
    facts = {
        "before": 0.97,
        "value": 3.65,
        "lr_change_step": 1000,
        "lr_before": 6e-4,
        "lr_after": 2.4e-2,
        "rule": "median of 5 rows",
    }
    return finding("spike:train/loss:1001", series="train/loss", facts=facts, **fields)


def level_shift(**fields: Any) -> Finding:
    """The mean loss of the recorded run `sdc_rollback`."""
    facts = {"before": 1.12, "value": 1.33}
    return finding(
        "shift:train/loss:701", "level_shift", 701, series="train/loss", facts=facts, **fields
    )


def rank_outlier(rank: int = 5, step: int = 710, **fields: Any) -> Finding:
    """One rank's own loss apart from those of all others."""
    evidence = Evidence(f"loss of rank {rank} is 2.8, of all others 1.1", step=step, rank=rank)
    return finding(
        f"rank:{rank}:{step}",
        "rank_outlier",
        step,
        detector="rank_outlier",
        rank=rank,
        evidence=(evidence,),
        **fields,
    )


def failure(rank: int = 6, node: str = "gpu-b02", **fields: Any) -> Finding:
    """The first failure of a dead job."""
    suspect = Suspect(rank, node, "py_exception", 0.9, (Evidence("ValueError: bad batch"),))
    facts = {"fault_class": "py_exception", "confidence": 0.9, **fields.pop("facts", {})}
    return finding(
        "failure:0",
        "failure",
        120,
        detector="first_failure",
        rank=rank,
        node=node,
        suspects=(suspect,),
        facts=facts,
        title=f"rank {rank} ({node}) failed: py_exception",
        **fields,
    )


def incident(**fields: Any) -> IncidentInfo:
    """An open paging incident of run 3."""
    values: dict[str, Any] = {
        "id": 42,
        "run_id": 3,
        "attempt": 0,
        "kind": "explosion",
        "severity": PAGE,
        "page": True,
        "state": IncidentState.OPEN,
        "onset_step": 1001,
        "onset_time_ns": at(1001),
        "title": "Loss 0.97 -> 3.65 since step 1,001",
        "cause_hint": "learning rate changed at the same step",
        "suspects": (),
        "opened_at_ns": at(1003),
        "series": "train/loss",
        "finding_count": 1,
        **fields,
    }
    return IncidentInfo(**values)
