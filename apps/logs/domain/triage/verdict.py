"""The answer to "who failed first", and what it is chosen from."""

from __future__ import annotations

from dataclasses import dataclass

from apps.core.records import Evidence, Suspect
from apps.logs.domain.triage.case import RankFacts
from apps.logs.domain.triage.faultclass import FaultClass

NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class FirstFailurePolicy:
    """Limits of the rule.

    tie_ns: events closer than this cannot be ordered (whole-second sources, flush delays).
    doubt_sigmas: of two hosts, so many standard errors of the difference of their clocks more.
    group_ratio: one class on more than this share of the ranks is a group incident.
    before_ns, after_ns: a node event this close to the failure confirms it (not measured: tune).
    """

    tie_ns: int = 1 * NS
    doubt_sigmas: float = 3.0
    group_ratio: float = 0.5
    before_ns: int = 600 * NS
    after_ns: int = 300 * NS


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer. suspects: best first, () if not_derivable. why: the rule that chose it, in words.

    confirmed: an agent reported the failure, or half of the ranks (3 at least) stand in an error.
    group: ranks that failed alike. together: ranks that are to blame only together. tied: ranks
    whose order no clock decides, the first suspect among them. onset_step: last step the suspect
    (or the job) reported. onset_ns: on the job's clock.
    """

    fault: FaultClass
    confidence: float
    not_derivable: bool
    confirmed: bool
    suspects: tuple[Suspect, ...]
    evidence: tuple[Evidence, ...]
    group: tuple[int, ...]
    onset_ns: int
    onset_step: int | None
    why: str = ""
    together: tuple[int, ...] = ()
    tied: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rank that may have started it. time_ns: when, on the job's clock."""

    rank: RankFacts
    fault: FaultClass
    time_ns: int
    evidence: tuple[Evidence, ...]
