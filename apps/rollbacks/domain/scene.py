"""What the ranker looks at: saved checkpoints, the fault, what is known of earlier starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.rollbacks.domain.cost import CostBasis
from apps.rollbacks.domain.lineage import Branch

FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Health:
    """The training just before a save; None where it was not measured.

    loss_z, grad_z: robust standard deviations of the last rows from those before. optimizer_z: the
    highest of the optimizer's second moments. nonfinite: rows whose loss or gradient norm is no
    number. scale_falls: how often the loss scale fell, that is, steps that were skipped.
    open_findings: titles of what detectors had found and what had not ended when it was saved.
    """

    loss_z: float | None = None
    grad_z: float | None = None
    optimizer_z: float | None = None
    nonfinite: int | None = None
    scale_falls: int | None = None
    open_findings: tuple[str, ...] = ()

    @property
    def measured(self) -> bool:
        """Whether anything is known."""
        numbers = (self.loss_z, self.grad_z, self.optimizer_z, self.nonfinite, self.scale_falls)
        return bool(self.open_findings) or any(value is not None for value in numbers)

    @property
    def worst_z(self) -> float:
        """The highest of the three, -inf if none was measured."""
        known = (self.loss_z, self.grad_z, self.optimizer_z)
        return max((z for z in known if z is not None), default=float("-inf"))


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One result of an evaluation of a checkpoint. higher: whether a higher value is better, None
    if nobody says."""

    name: str
    value: float
    higher: bool | None

    @property
    def merit(self) -> float:
        """The larger the better, where it is known which way that is."""
        return -self.value if self.higher is False else self.value


@dataclass(frozen=True, slots=True)
class Begun:
    """An attempt that began from a checkpoint. ended: how, in words. loaded: it logged a step."""

    attempt: int
    ended: str
    loaded: bool = True


@dataclass(frozen=True, slots=True)
class Restore:
    """How long loading takes. basis: where the figure comes from, in words."""

    seconds: float
    basis: str


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A checkpoint as the ranker sees it.

    complete: committed and nothing fatal found. findings: what was found, in words. regressed: the
    evaluations that had got worse before it was saved and were not back, in words. kept: why it is
    not deleted (pinned, leased, tagged). leaving: that it is deleted, lost, or going; doomed: that
    its deletion is planned, in words.
    copies: where it lies whole, the place to restore from first. optimizer: whether it holds the
    optimizer's state, None if unknown.
    """

    attempt: int
    step: int
    path: str
    saved_at_ns: int
    size_bytes: int
    level: str
    complete: bool
    findings: tuple[str, ...] = ()
    health: Health = Health()
    regressed: tuple[str, ...] = ()
    scores: tuple[Evaluated, ...] = ()
    kept: tuple[str, ...] = ()
    leaving: str = ""
    doomed: str = ""
    copies: tuple[str, ...] = ()
    optimizer: bool | None = None
    begun: tuple[Begun, ...] = ()
    restore: Restore | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt that started again and relapsed. from_step: the checkpoint it started from, or the
    first step it logged. relapsed_step: None if the losses say it without naming a step."""

    attempt: int
    from_step: int
    relapsed_step: int | None = None

    @property
    def words(self) -> str:
        """ "relapsed at step 1,003"."""
        at = "" if self.relapsed_step is None else f" at step {self.relapsed_step:,}"
        return f"relapsed{at}"


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong, where a rollback starts from.

    onset_step: the earliest moved signal, or the last common step of a failure; None if unknown.
    signal: the series that moved first, in words. tried: starts that did not help.
    """

    kind: str
    attempt: int
    onset_step: int | None
    onset_time_ns: int
    signal: str = ""
    tried: tuple[Tried, ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything the ranker looks at. window_steps: what the detector of this kind of fault looks
    at, in steps; 0 if unknown."""

    checkpoints: Sequence[SavedCheckpoint]
    fault: Fault
    branches: Sequence[Branch]
    cost: CostBasis
    window_steps: int = 0
