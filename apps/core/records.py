"""Values that cross the borders between apps: frozen, without Django, safe to send anywhere.

Times are Unix nanoseconds UTC (`_ns`). `run_id` and `attempt` are not repeated in the records:
the caller knows them. A field that may be unknown is None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any


class Severity(IntEnum):
    """Severity of a log line. The numbers are stored: never renumber."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40
    CRITICAL = 50


class FindingSeverity(StrEnum):
    """How loud a finding is. Only PAGE sends mail."""

    INFO = "info"
    WARN = "warn"
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class MetricRow:
    """What one process logged at one step.

    values: IEEE doubles; NaN, +inf and -inf are data and are kept as what they are.
    rank: None for a value of the whole job, else the global rank that printed it.
    extra: what the row said beside its numbers, for reading it back (apps/ingest/wandb/extras.py).
    """

    step: int
    time_ns: int
    values: Mapping[str, float]
    rank: int | None = None
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of one file, without its line end.

    seq: byte offset of the line in its file, the order inside (source, generation).
    rank: global rank if the line or its file names one. step: the step the line speaks of.
    text: decoded as UTF-8, invalid bytes replaced (U+FFFD).
    """

    time_ns: int
    seq: int
    source: str
    channel: str
    local_rank: int | None
    rank: int | None
    severity: int
    step: int | None
    text: str


@dataclass(frozen=True, slots=True)
class CheckpointSeen:
    """A checkpoint as its writer announced it. files: name -> bytes; None if nobody listed them.

    doubt: who says another step than `step`, in words; "" if nobody does.
    """

    step: int
    path: str
    saved_at_ns: int
    save_s: float | None
    files: Mapping[str, int] | None
    metadata: bytes | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """Something that happened to a node (Xid, drain, thermal...).

    source: who says so; several that say the same are joined by ", ". raw: their own words, cut.
    ended_ns: when it was over, None for what has no duration or goes on.
    key: what the source calls this event; without one its words tell it from others.
    """

    node: str
    time_ns: int
    kind: str
    severity: str
    message: str
    device: str | None = None
    source: str = "api"
    raw: str = ""
    ended_ns: int | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reason, in words a person can check.

    weight: +1 speaks for the statement it supports, -1 against it, 0 is context.
    """

    text: str
    time_ns: int | None = None
    step: int | None = None
    rank: int | None = None
    node: str | None = None
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Suspect:
    """A rank or node that may be at fault. confidence: 0..1."""

    rank: int | None
    node: str | None
    fault_class: str
    confidence: float
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One detector's statement with evidence.

    key: unique inside a run; the same key again means the same finding, newer state.
    kind: explosion, level_shift, slow_divergence, nonfinite, loss_drop, outlier, rank_outlier,
        failure, precursor, ...
    page: a person must look now. closed_step/closed_time_ns: set when the episode has ended.
    facts: JSON-able values other code reads (before, value, z, rule, lr_before, lr_after ...).
    """

    key: str
    detector: str
    kind: str
    severity: FindingSeverity
    attempt: int
    onset_step: int | None
    onset_time_ns: int
    seen_step: int | None
    seen_time_ns: int
    title: str
    series: str | None = None
    rank: int | None = None
    node: str | None = None
    closed_step: int | None = None
    closed_time_ns: int | None = None
    evidence: tuple[Evidence, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def page(self) -> bool:
        """Whether this finding pages somebody."""
        return self.severity is FindingSeverity.PAGE


@dataclass(frozen=True, slots=True)
class Term:
    """One thing a candidate is weighed by. silent: why nothing is said, "" if something is."""

    name: str
    said: tuple[Evidence, ...] = ()
    silent: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A checkpoint seen as a place to roll back to.

    eligible: passed every hard filter. level: as far as it was verified. terms: what it was
    weighed by, in a fixed order; reasons: what they say, what speaks against it first.
    lost_steps: steps to redo. lost_gpu_hours, lost_tokens: None if not known. restore_s: seconds
    until it is loaded, an estimate; None if nothing is known.
    """

    step: int
    attempt: int
    path: str
    eligible: bool
    level: str
    reasons: tuple[Evidence, ...]
    lost_steps: int
    lost_gpu_hours: float | None
    saved_at_ns: int
    size_bytes: int
    terms: tuple[Term, ...] = ()
    lost_tokens: int | None = None
    restore_s: float | None = None
