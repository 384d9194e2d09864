"""The story of an incident in the order of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from apps.checkpoints.domain.storagewatch import KINDS as STORAGE
from apps.core.records import Evidence, Finding, FindingSeverity
from apps.core.words import many
from apps.incidents.domain.correlate import FAILURE_KINDS
from apps.incidents.domain.incident import IncidentInfo, IncidentState
from apps.incidents.domain.summary import telling
from apps.logs.domain.triage.roots import is_teardown


class Mark(StrEnum):
    """The three marks of a timeline."""

    FIRST = "FIRST"
    ONSET = "ONSET"
    NOW = "NOW"


class Role(StrEnum):
    """The causal role of an event, in the vocabulary of NVIDIA's attribution taxonomy."""

    INITIATING = "initiating"
    CASCADE = "cascade"
    TEARDOWN = "teardown"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Happening:
    """Something beside the findings: a checkpoint, a node event, an attempt, an order.

    source: checkpoint, node, attempt, order, incident. time_ns: its own clock.
    """

    time_ns: int
    source: str
    text: str
    step: int | None = None
    rank: int | None = None
    node: str | None = None
    role: Role = Role.UNKNOWN


@dataclass(frozen=True, slots=True)
class TimelineItem:
    """One line of the timeline."""

    time_ns: int
    source: str
    text: str
    step: int | None = None
    rank: int | None = None
    node: str | None = None
    role: Role = Role.UNKNOWN
    mark: Mark | None = None


def compose(
    incident: IncidentInfo,
    findings: Sequence[Finding],
    happenings: Sequence[Happening],
    now_ns: int,
) -> tuple[TimelineItem, ...]:
    """The timeline, oldest first, every item once.

    FIRST marks the earliest evidence (the earliest signal or the first finding), ONSET the
    onset of the incident; when both are the same item it carries ONSET and no FIRST is set.
    NOW closes the list while the incident is not resolved. A node event on the node of the first
    suspect at or before the onset counts as initiating.
    """
    items = [
        *_from_findings(incident, findings),
        *_from_signal(incident),
        *(_from_happening(incident, h) for h in happenings),
    ]
    unique = {(i.time_ns, i.source, i.text): i for i in items}
    ordered = _marked(incident, sorted(unique.values(), key=_order))
    if incident.state is IncidentState.RESOLVED:
        return tuple(ordered)
    now = TimelineItem(now_ns, "incident", "now", mark=Mark.NOW)
    return (*ordered, replace(now, time_ns=max(now_ns, ordered[-1].time_ns if ordered else 0)))


def shortened(items: Sequence[TimelineItem], most: int) -> tuple[TimelineItem, ...]:
    """At most `most` of them, in order: the marked ones, what has a role, then the earliest."""
    ranked = sorted(
        range(len(items)),
        key=lambda n: (items[n].mark is None, items[n].role is Role.UNKNOWN, n),
    )
    return tuple(items[n] for n in sorted(ranked[:most]))


def _from_findings(incident: IncidentInfo, findings: Sequence[Finding]) -> list[TimelineItem]:
    items: list[TimelineItem] = []
    own = [finding for finding in findings if finding.attempt == incident.attempt]
    main = telling(own) if own else None
    for finding in findings:
        items.append(
            TimelineItem(
                time_ns=finding.onset_time_ns,
                source="finding",
                text=_named(finding, incident),
                step=finding.onset_step,
                rank=finding.rank,
                node=finding.node,
                role=_role_of_finding(finding, main, incident),
            )
        )
        items.extend(_from_evidence(finding, e) for e in finding.evidence if e.time_ns is not None)
        items.extend(_ending(finding, incident))
    return items


def _named(finding: Finding, incident: IncidentInfo) -> str:
    """What a finding says; of another attempt than the one it began in, which one."""
    if finding.attempt == incident.attempt:
        return finding.title
    return f"in attempt {finding.attempt}: {finding.title}"


def _role_of_finding(finding: Finding, main: Finding | None, incident: IncidentInfo) -> Role:
    if finding.severity is FindingSeverity.INFO:
        return Role.UNKNOWN
    if finding is main or finding.onset_time_ns <= incident.onset_time_ns:
        return Role.INITIATING
    if finding.attempt != incident.attempt:
        return Role.UNKNOWN
    return Role.CASCADE


_SAID_BY = {
    **dict.fromkeys(FAILURE_KINDS, "log"),
    "no_contact": "contact",
    "silent_rank": "log",
    **dict.fromkeys(
        ("save_failed", "save_late", "save_slow", "wrong_folder", *STORAGE), "checkpoint"
    ),
}
"""kind -> the source of its evidence, where it is no series."""


def _from_evidence(finding: Finding, evidence: Evidence) -> TimelineItem:
    accused = finding.rank if finding.suspects == () else finding.suspects[0].rank
    role = Role.UNKNOWN
    if finding.kind in FAILURE_KINDS and is_teardown(evidence.text):
        role = Role.TEARDOWN
    elif finding.kind in FAILURE_KINDS and evidence.rank is not None:
        role = Role.INITIATING if evidence.rank == accused else Role.CASCADE
    return TimelineItem(
        time_ns=evidence.time_ns or finding.onset_time_ns,
        source=_SAID_BY.get(finding.kind, "metric"),
        text=evidence.text,
        step=evidence.step,
        rank=evidence.rank,
        node=evidence.node,
        role=role,
    )


def _ending(finding: Finding, incident: IncidentInfo) -> list[TimelineItem]:
    if finding.closed_time_ns is None:
        return []
    text = f"ended: {_named(finding, incident)}"
    return [TimelineItem(finding.closed_time_ns, "finding", text, finding.closed_step)]


def _from_signal(incident: IncidentInfo) -> list[TimelineItem]:
    signal = incident.earliest_signal
    if signal is None:
        return []
    steps = many(signal.lead_steps, "step")
    lead = f", {steps} before the {signal.ahead_of}" if signal.lead_steps else ""
    return [
        TimelineItem(
            time_ns=signal.time_ns,
            source="metric",
            text=f"{signal.named} left {'their' if signal.more else 'its'} band{lead}",
            step=signal.step,
            rank=signal.rank,
            role=Role.INITIATING,
        )
    ]


def _from_happening(incident: IncidentInfo, happening: Happening) -> TimelineItem:
    accused = incident.suspects[0].node if incident.suspects else None
    role = happening.role
    if happening.source == "node" and happening.node is not None and happening.node == accused:
        before = happening.time_ns <= incident.onset_time_ns
        role = Role.INITIATING if before else Role.CASCADE
    return TimelineItem(
        time_ns=happening.time_ns,
        source=happening.source,
        text=happening.text,
        step=happening.step,
        rank=happening.rank,
        node=happening.node,
        role=role,
    )


def _marked(incident: IncidentInfo, items: list[TimelineItem]) -> list[TimelineItem]:
    """Set ONSET on the first finding at the onset, FIRST on the first evidence before it."""
    at_onset = [
        n
        for n, i in enumerate(items)
        if i.source == "finding" and i.time_ns >= incident.onset_time_ns
    ]
    evident = [n for n, i in enumerate(items) if i.role is Role.INITIATING]
    marked = list(items)
    if evident:
        marked[evident[0]] = replace(marked[evident[0]], mark=Mark.FIRST)
    if at_onset:
        marked[at_onset[0]] = replace(marked[at_onset[0]], mark=Mark.ONSET)
    return marked


def _order(item: TimelineItem) -> tuple[int, int, str]:
    return (item.time_ns, item.rank if item.rank is not None else -1, item.text)
