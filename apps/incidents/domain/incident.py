"""What an incident is, as values. Also returned by `apps.incidents.store`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from apps.core.records import Evidence, FindingSeverity, Suspect


class IncidentState(StrEnum):
    """The life of an incident. Stored: never rename a value."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    MITIGATED = "mitigated"
    RESOLVED = "resolved"


NOTHING_DONE = (IncidentState.OPEN, IncidentState.ACKNOWLEDGED)
UNRESOLVED = (*NOTHING_DONE, IncidentState.MITIGATED)
"""Not over: what such an incident says of checkpoints still holds."""

UNTIL_RESOLVED = 2**62
"""The end of a silence that lasts until the incident is resolved (nanoseconds, far ahead)."""


class Resolution(StrEnum):
    """Why an incident ended. What may reopen it: see `state.decide` and `correlate.relapses`."""

    NONE = ""
    CLOSED = "closed"  # every finding of it ended by itself
    RECOVERED = "recovered"  # a rollback was verified
    MANUAL = "manual"  # a person said so


@dataclass(frozen=True, slots=True)
class EarliestSignal:
    """The series that left its own band first, at or before the onset of the incident.

    layer: the place its name speaks of ("layer 4"), None for a whole-job series. words: the name
    in words ("layer 4, mlp.up_proj, grad norm"), "" where that says no more than the series.
    lead_steps, lead_s: how long ahead it was; 0 when it moved with it. ahead_of: "onset", or "loss"
    where the loss moved later than the incident began. more: so many other layers moved at the same
    step (other series, if this is a whole-job one).
    """

    series: str
    step: int
    time_ns: int
    layer: str | None = None
    rank: int | None = None
    lead_steps: int = 0
    lead_s: float = 0.0
    more: int = 0
    words: str = ""
    ahead_of: str = "onset"

    @property
    def named(self) -> str:
        """ "layer 4, grad norm", or "layer 4, grad norm and 2 more layers"."""
        name = self.words or self.series
        if not self.more:
            return name
        other = "series" if self.layer is None else "layer" if self.more == 1 else "layers"
        return f"{name} and {self.more} more {other}"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A possible cause, the test that was made, and what speaks for and against it.

    cause: learning_rate, hardware, failure, data, reported, seen, unknown. text: one short
    sentence. test: what was compared, so that a person can repeat it.
    """

    cause: str
    text: str
    test: str
    confidence: float
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class IncidentInfo:
    """An incident with everything the findings say about it.

    onset_step: first step of the earliest finding, None when no finding names a step.
    opened_at_ns, resolved_at_ns: our clock; onset_time_ns: the clock of the training job.
    settled: False while the log triage still waits for late lines (only failures).
    owner: the user who takes care, "" for nobody. mitigated_at_ns: since when what was done about
    it is believed to help; None after a relapse. silenced_until_ns: no messages before then, None
    for not silenced, UNTIL_RESOLVED for as long as it lasts. acts: how often it was changed.
    relapsed_step, relapsed_attempt, relapsed_at_ns: where and when it came back last though
    something was done, or in a later attempt; None if it never did.
    """

    id: int
    run_id: int
    attempt: int
    kind: str
    severity: FindingSeverity
    page: bool
    state: IncidentState
    onset_step: int | None
    onset_time_ns: int
    title: str
    cause_hint: str
    suspects: tuple[Suspect, ...]
    opened_at_ns: int
    resolved_at_ns: int | None = None
    resolution: str = ""
    earliest_signal: EarliestSignal | None = None
    finding_count: int = 0
    series: str | None = None
    hypotheses: tuple[Hypothesis, ...] = ()
    settled: bool = True
    acknowledged_at_ns: int | None = None
    acknowledged_by: str = ""
    reopened: int = 0
    owner: str = ""
    mitigated_at_ns: int | None = None
    silenced_until_ns: int | None = None
    silenced_by: str = ""
    silence_reason: str = ""
    relapsed_step: int | None = None
    relapsed_attempt: int | None = None
    relapsed_at_ns: int | None = None
    acts: int = 0

    @property
    def label(self) -> str:
        """The name people use: INC-42."""
        return f"INC-{self.id}"

    @property
    def unresolved(self) -> bool:
        """Whether it is not over yet."""
        return self.state in UNRESOLVED

    @property
    def attended(self) -> bool:
        """Whether somebody takes care of it, or something was done: no reminder is needed."""
        return self.state in (IncidentState.ACKNOWLEDGED, IncidentState.MITIGATED)

    @property
    def silenced_for_good(self) -> bool:
        """Whether the silence has no end but the end of the incident."""
        return self.silenced_until_ns == UNTIL_RESOLVED

    def silenced(self, now_ns: int) -> bool:
        """Whether no message may go out now."""
        return self.silenced_until_ns is not None and now_ns < self.silenced_until_ns


@dataclass(frozen=True, slots=True)
class IncidentChange:
    """What `services` did to one incident.

    change: opened, extended, reopened, acknowledged, mitigated, resolved, silenced, unsilenced,
    assigned or noted. says: one sentence for people, "" where the change says it all.
    """

    run_id: int
    incident_id: int
    change: str
    says: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class EventInfo:
    """One line of an incident's history."""

    at_ns: int
    key: str
    text: str
    actor: str

    @property
    def what(self) -> str:
        """What kind of line: opened, finding, note, order, acknowledged, silenced, ..."""
        return self.key.partition(":")[0]

    @property
    def is_note(self) -> bool:
        """Whether a person wrote it."""
        return self.what == "note"
