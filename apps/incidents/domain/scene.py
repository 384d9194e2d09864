"""What the tests of causes look at, and what each of them says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from apps.core.records import Finding
from apps.incidents.domain.clues import Clues
from apps.incidents.domain.correlate import loudness
from apps.incidents.domain.incident import EarliestSignal, IncidentInfo
from apps.incidents.domain.shape import Shape
from apps.incidents.domain.summary import struck_at


class Result(StrEnum):
    """How a test came out."""

    HOLDS = "holds"
    AGAINST = "speaks against"
    UNTESTED = "could not be tested"


@dataclass(frozen=True, slots=True)
class CheckPolicy:
    """Thresholds, in steps, and what a test is worth, 0 to 1.

    same_steps: a value logged for step n is applied at its end and shows at n + 1. settle_steps: a
    configuration under which so many steps went well is not what broke it (the longest measured
    lead of a cause over the loss is about 300 steps, a ramp of the learning rate). resume_steps:
    104B diverged at once with a reset optimizer. transient_steps: rows after a resume in which an
    excursion is usual. lead_steps: the gradient norm of BLOOM-176B moved 4 steps before its loss;
    fewer than three steps may be one and the same event, logged late. heal_steps: the longest
    known spike that healed, of the 13B run, took about 500 steps. scale_ratio: three halvings
    preceded the divergence of the 13B run.
    sure: it stands in the log. strong: the same outlier at the same step of another pass, by chance
    in about 0.4 % of the cases (320 outliers in 441,000 rows, looked for in five). other_state: a
    normal pass of another run hardly clears the data, to another state the same batches did no harm
    (PaLM, Adam theory). likely, fair, weak: judgement, fair for what healed by itself (303 of 320
    excursions of healthy public runs lasted one row); how often the first cause is right is to be
    counted on real incidents.
    """

    same_steps: int = 2
    settle_steps: int = 300
    resume_steps: int = 100
    transient_steps: int = 10
    lead_steps: int = 3
    heal_steps: int = 500
    scale_ratio: float = 8.0
    sure: float = 0.95
    strong: float = 0.85
    likely: float = 0.7
    fair: float = 0.5
    weak: float = 0.3
    other_state: float = 0.1


DEFAULT_POLICY = CheckPolicy()


@dataclass(frozen=True, slots=True)
class Check:
    """One test. test: what was compared, so that a person can repeat it. seen: what came out, or
    why it could not be made. weight: what it is worth, 0 to 1."""

    test: str
    result: Result
    seen: str
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything the tests look at. skipped: attempt -> steps whose data it was told to skip."""

    incident: IncidentInfo
    findings: tuple[Finding, ...]
    shape: Shape
    clues: Clues
    skipped: tuple[tuple[int, tuple[int, int]], ...] = ()

    @property
    def onset(self) -> int | None:
        return self.incident.onset_step

    @property
    def struck(self) -> int | None:
        """Where the loss itself went wrong (summary.struck_at)."""
        return struck_at(self.findings, self.onset)

    @property
    def earliest(self) -> EarliestSignal | None:
        return self.incident.earliest_signal

    def kinds(self) -> set[str]:
        """The kinds of all findings that are louder than information."""
        return {f.kind for f in self.findings if loudness(f.severity) > 0}
