"""A verdict as a finding that a person reads and other code uses."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from apps.core.records import Finding, FindingSeverity, Suspect
from apps.logs.domain.triage.quiet import QuietKind
from apps.logs.domain.triage.verdict import Verdict

DETECTOR = "first_failure"
MAX_NAMED_RANKS = 8
NOT_OURS = frozenset({"scheduler"})


def fingerprint(verdict: Verdict, course: Mapping[str, Any] | None = None) -> str:
    """Changes when anything a person would see changes."""
    parts = asdict(verdict)
    parts["fault"], parts["course"] = verdict.fault.id, course
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def confidence_word(confidence: float) -> str:
    """high, medium, low or none."""
    for limit, word in ((0.75, "high"), (0.5, "medium"), (0.3, "low")):
        if confidence >= limit:
            return word
    return "none"


def failure_key(attempt: int) -> str:
    """Key of the one failure finding of an attempt."""
    return f"failure:a{attempt}"


def finding_of(
    verdict: Verdict, *, attempt: int, settled: bool, course: Mapping[str, Any] | None = None
) -> Finding:
    """The finding. Pages, unless the scheduler ended the job; settled False: lines still arrive.

    course: how it went (course.py), as plain values.
    """
    first = verdict.suspects[0] if verdict.suspects else None
    pages = verdict.fault.blame not in NOT_OURS
    times = [e.time_ns for e in verdict.evidence if e.time_ns is not None]
    return Finding(
        key=failure_key(attempt),
        detector=DETECTOR,
        kind="failure",
        severity=FindingSeverity.PAGE if pages else FindingSeverity.WARN,
        attempt=attempt,
        onset_step=verdict.onset_step,
        onset_time_ns=verdict.onset_ns,
        seen_step=verdict.onset_step,
        seen_time_ns=max([verdict.onset_ns, *times]),
        title=title_of(verdict),
        rank=first.rank if first else None,
        node=first.node if first else None,
        evidence=verdict.evidence,
        suspects=verdict.suspects,
        facts={**facts_of(verdict, settled=settled), "course": course},
    )


def recovered_finding(attempt: int, *, now_ns: int) -> Finding:
    """Closes the failure finding of an attempt whose ranks went on."""
    return Finding(
        key=failure_key(attempt),
        detector=DETECTOR,
        kind="failure",
        severity=FindingSeverity.INFO,
        attempt=attempt,
        onset_step=None,
        onset_time_ns=now_ns,
        seen_step=None,
        seen_time_ns=now_ns,
        title="The ranks went on after the error",
        closed_time_ns=now_ns,
        facts={"recovered": True, "settled": True},
    )


def facts_of(verdict: Verdict, *, settled: bool) -> dict[str, Any]:
    """JSON-able values."""
    return {
        "fault_class": verdict.fault.id,
        "fault_title": verdict.fault.title,
        "layer": verdict.fault.layer,
        "blame": verdict.fault.blame,
        "of_project": verdict.fault.of_project,
        "action": verdict.fault.action,
        "confidence": verdict.confidence,
        "confidence_word": confidence_word(verdict.confidence),
        "not_derivable": verdict.not_derivable,
        "group": list(verdict.group),
        "together": list(verdict.together),
        "tied": list(verdict.tied),
        "why": verdict.why,
        "cause_hint": title_of(verdict),
        "suspects": [_suspect_facts(suspect) for suspect in verdict.suspects],
        "settled": settled,
    }


def _suspect_facts(suspect: Suspect) -> dict[str, Any]:
    return {
        "rank": suspect.rank,
        "node": suspect.node,
        "fault_class": suspect.fault_class,
        "confidence": suspect.confidence,
    }


def title_of(verdict: Verdict) -> str:
    """One sentence, under 200 characters."""
    title = verdict.fault.title
    first = verdict.suspects[0] if verdict.suspects else None
    if first is None or first.rank is None:
        return _without_rank(verdict, first)
    if verdict.together:
        return f"{_all_of(verdict)} failed together: {title}"
    place = f"Rank {first.rank}" + (f" on {first.node}" if first.node else "")
    if verdict.fault.id == QuietKind.HANG:
        return f"{place} hung: it printed no error while its peers gave up waiting"
    if verdict.fault.id == QuietKind.EARLY_EXIT:
        return f"{place} left early with exit code 0"
    return f"{place} failed first: {title}"


def _all_of(verdict: Verdict) -> str:
    """ "Ranks 0 and 1 on gpu-a01"; the hosts only if it is one."""
    named = [*map(str, verdict.together[:MAX_NAMED_RANKS])]
    more = len(verdict.together) - len(named)
    last = f"{more} more" if more else named.pop()
    hosts = {suspect.node for suspect in verdict.suspects}
    where = f" on {hosts.pop()}" if len(hosts) == 1 and None not in hosts else ""
    return f"Ranks {', '.join(named)} and {last}{where}"


def _without_rank(verdict: Verdict, first: Suspect | None) -> str:
    title = verdict.fault.title
    if first is not None and first.node is not None:
        return f"Node {first.node}: {title}"
    if verdict.group:
        named = ", ".join(map(str, verdict.group[:MAX_NAMED_RANKS]))
        more = "" if len(verdict.group) <= MAX_NAMED_RANKS else ", ..."
        return f"{title} on ranks {named}{more}; the first rank is not derivable"
    return f"{title}; no rank stands out" if verdict.not_derivable else title
