"""What was looked up around an incident: the facts that the tests of its causes are made on.

All of it is JSON-able, so that it can be kept beside an incident that is over.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.core.records import NodeEvent


@dataclass(frozen=True, slots=True)
class Passage:
    """Another attempt that trained the steps around the onset.

    z: its furthest value there, in robust standard deviations of the rows before; None if that is
    no number. outlier: it left its band there too. same_order: its seed, batch size and data
    settings are those of this run; None if a configuration is missing. own: of the same run.
    """

    run_key: str
    attempt: int
    own: bool
    step: int
    z: float | None
    outlier: bool
    same_order: bool | None = None

    @property
    def named(self) -> str:
        """ "attempt 1", or "run llm-7b, attempt 0"."""
        return f"attempt {self.attempt}" if self.own else f"run {self.run_key}"


@dataclass(frozen=True, slots=True)
class RateSeen:
    """The logged learning rate around the onset. jump_step: where it changed at once, None if it
    did not; before, after: around the jump, else at the two ends of the rows before the onset.
    rising: it climbed by steps to a value it had not had in those rows."""

    before: float
    after: float
    jump_step: int | None = None
    rising: bool = False


@dataclass(frozen=True, slots=True)
class ConfigSeen:
    """What the attempt said of itself beside what the one before it said.

    against: number of that attempt. changed: "name: before -> after", the telling ones first, None
    if one of the two sent no configuration. steering: one of them steers the optimisation.
    commits: the code of both, "" if unknown.
    """

    against: int
    changed: tuple[str, ...] | None = None
    steering: bool = False
    commits: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class ResumeSeen:
    """The restart before the onset. steps: logged before the onset. optimizer: whether the
    checkpoint it went on from holds optimizer state, None if its files do not tell."""

    attempt: int
    fork_step: int
    steps: int
    optimizer: bool | None = None


@dataclass(frozen=True, slots=True)
class ScaleSeen:
    """The loss scale: its highest value in the rows before the onset, and its lowest after that."""

    before: float
    lowest: float


@dataclass(frozen=True, slots=True)
class WeightsSeen:
    """Norms of weights that left their band with the onset. words, step: of the first.

    updated: an update norm or ratio moved no later, which explains it; None if none is logged.
    """

    words: str
    step: int
    updated: bool | None


@dataclass(frozen=True, slots=True)
class Clues:
    """None, or (), where something is not known or not logged.

    running: the attempt trains on. first_step, newest_step: of the attempt, when this was looked
    up. step_s: median seconds of a step. left_ratio: what is left of the furthest excess over the
    level before, 0 when it is back, 1 when it is at its furthest. nonfinite_rows: rows without a
    usable loss or gradient norm near the onset, None if neither is logged. passages were sought at
    the step `position`, in `runs_asked` other runs. events: of the hosts of the attempt, around the
    onset. tried: first steps of the attempts that went back and met it again.
    """

    running: bool = True
    first_step: int | None = None
    newest_step: int | None = None
    step_s: float | None = None
    gpus: int | None = None
    left_ratio: float | None = None
    rate: RateSeen | None = None
    config: ConfigSeen | None = None
    resume: ResumeSeen | None = None
    scale: ScaleSeen | None = None
    weights: WeightsSeen | None = None
    nonfinite_rows: int | None = None
    passages: tuple[Passage, ...] = ()
    position: int | None = None
    runs_asked: int = 0
    ranks_logged: bool = False
    layers_logged: bool = False
    hosts: tuple[str, ...] = ()
    events: tuple[NodeEvent, ...] = ()
    tried: tuple[int, ...] = ()
