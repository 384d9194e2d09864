"""Why it may have happened: hypotheses, each with the test that was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.core.records import Evidence, Finding, FindingSeverity, Suspect
from apps.core.words import number, place
from apps.incidents.domain.correlate import FAILURE_KINDS, SCRIPT_ALERT, healed
from apps.incidents.domain.incident import Hypothesis
from apps.incidents.domain.suspects import apart_ranks

LR_CHANGED = "learning rate changed at the same step"


@dataclass(frozen=True, slots=True)
class CausePolicy:
    """same_steps: how far a change and an onset may lie apart to count as the same step.

    A value logged for step n is applied at the end of n and shows at n + 1; one step of slack.
    """

    same_steps: int = 2


DEFAULT_POLICY = CausePolicy()


def hypotheses(
    findings: Sequence[Finding],
    suspects: Sequence[Suspect],
    onset_step: int | None,
    policy: CausePolicy = DEFAULT_POLICY,
) -> tuple[Hypothesis, ...]:
    """The possible causes of an incident, most likely first; never empty.

    The text of the first is the cause hint. A changed learning rate at the onset comes first:
    it explains every rank at once, so it also weakens the case against a single one.
    """
    found = [
        *_learning_rate(findings, onset_step, policy),
        *_failure(findings),
        *_hardware(findings, suspects),
        *_data(findings),
        *_reported(findings),
        *_hinted(findings),
    ]
    found.sort(key=lambda h: -h.confidence)
    return tuple(found) or (_unknown(findings),)


def _learning_rate(
    findings: Sequence[Finding], onset_step: int | None, policy: CausePolicy
) -> list[Hypothesis]:
    if onset_step is None:
        return []
    for finding in findings:
        change = finding.facts.get("lr_change_step")
        if isinstance(change, int) and abs(change - onset_step) <= policy.same_steps:
            before, after = finding.facts.get("lr_before"), finding.facts.get("lr_after")
            seen = f"learning rate {number(before)} -> {number(after)} at step {change:,}"
            return [
                Hypothesis(
                    cause="learning_rate",
                    text=LR_CHANGED,
                    test="the logged learning rate around the onset step",
                    confidence=0.95,
                    evidence=(Evidence(text=seen, step=change),),
                )
            ]
    return []


def _failure(findings: Sequence[Finding]) -> list[Hypothesis]:
    for finding in findings:
        if finding.kind in FAILURE_KINDS:
            fault = str(finding.facts.get("fault_class") or "unknown").replace("_", " ")
            words = f"{place(finding.rank, finding.node)} failed first: {fault}"
            return [
                Hypothesis(
                    cause="failure",
                    text=str(finding.facts.get("cause_hint") or words),
                    test="the first failure in the logs of all ranks, consequences left out",
                    confidence=_ratio(finding.facts.get("confidence"), 0.5),
                    evidence=finding.evidence,
                )
            ]
    return []


def _hardware(findings: Sequence[Finding], suspects: Sequence[Suspect]) -> list[Hypothesis]:
    apart = apart_ranks(findings)
    if len(apart) != 1:
        return []
    rank = apart.pop()
    named = [s for s in suspects if s.rank == rank]
    node = named[0].node if named else None
    return [
        Hypothesis(
            cause="hardware",
            text=f"{place(rank, node)} is apart from all other ranks: "
            "suspected silent data corruption",
            test="the same series of every rank compared at the same step",
            confidence=named[0].confidence if named else 0.5,
            evidence=named[0].evidence if named else (),
        )
    ]


def _data(findings: Sequence[Finding]) -> list[Hypothesis]:
    loud = [f for f in findings if f.severity is not FindingSeverity.INFO]
    if not loud or not all(healed(f) for f in loud):
        return []
    steps = sorted(f.onset_step for f in loud if f.onset_step is not None)
    where = f"step {steps[0]:,}" if steps else "that time"
    return [
        Hypothesis(
            cause="data",
            text=f"the spike healed by itself: the data of {where} is suspect",
            test="the loss after the spike is back in its band without a rollback",
            confidence=0.6,
            evidence=tuple(e for f in loud for e in f.evidence),
        )
    ]


def _reported(findings: Sequence[Finding]) -> list[Hypothesis]:
    said = [f for f in findings if f.kind == SCRIPT_ALERT]
    if not said:
        return []
    return [
        Hypothesis(
            cause="reported",
            text="the training script reported it",
            test="none: it is what the script passed to run.alert()",
            confidence=0.5,
            evidence=tuple(e for f in said for e in f.evidence),
        )
    ]


def _hinted(findings: Sequence[Finding]) -> list[Hypothesis]:
    """What the watch says of a silence or of saves: no cause, but where to look, or the risk."""
    said = [f for f in findings if f.severity is not FindingSeverity.INFO and "hint" in f.facts]
    if not said:
        return []
    return [
        Hypothesis(
            cause="seen",
            text=str(said[-1].facts["hint"]),
            test="none: it is what the watch saw beside it",
            confidence=0.1,
            evidence=said[-1].evidence,
        )
    ]


def _unknown(findings: Sequence[Finding]) -> Hypothesis:
    logged = any("lr_change_step" in f.facts for f in findings)
    known = "the learning rate did not change there, " if logged else ""
    return Hypothesis(
        cause="unknown",
        text="no known cause",
        test=f"{known}no rank is apart, no failure is logged, it has not healed",
        confidence=0.0,
    )


def _ratio(value: Any, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default
