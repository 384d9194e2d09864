"""The hand-over of an order to a launcher: its steps, and what may be done next. Pure.

Every step is written down before it is done, and looked up before it is done again: whoever dies in
between leaves a step that is `doing`, and the next one asks the launcher whether it has happened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

Facts = Mapping[str, str]
"""What a step has found out, such as the number of a job. Later steps and look-ups read it."""

GIVE_UP_S: Final = 600.0
"""So long a step may be told "later" before the hand-over fails: an epilogue takes minutes."""


class Kind(StrEnum):
    """Who starts the job. Stored: never rename a value."""

    SLURM = "slurm"
    ARGO = "argo"
    KUBERNETES = "kubernetes"


class StepState(StrEnum):
    """Where a step stands. Stored: never rename a value."""

    PLANNED = "planned"
    DOING = "doing"
    DONE = "done"


class HandoverState(StrEnum):
    """Where a hand-over stands. unsure: a step may have happened, and nobody can tell; a person has
    to look. stopped: the order ended meanwhile. Stored: never rename a value."""

    WORKING = "working"
    DONE = "done"
    FAILED = "failed"
    UNSURE = "unsure"
    STOPPED = "stopped"


class Move(StrEnum):
    """What comes next. look: ask whether the step that was begun has happened."""

    BEGIN = "begin"
    LOOK = "look"
    FINISH = "finish"


class Word(StrEnum):
    """What a launcher answers to a step: done, come again later, or it will not do it."""

    DONE = "done"
    LATER = "later"
    FAILED = "failed"


class Seen(StrEnum):
    """Whether a step that was begun has happened. later: nobody answers now. unsure: it cannot be
    told any more."""

    YES = "yes"
    NO = "no"
    LATER = "later"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that the hand-over changes. key: stable within its hand-over. words: for people."""

    key: str
    words: str


@dataclass(frozen=True, slots=True)
class Step:
    """An effect and how far it has come. before: facts from before it was begun."""

    effect: Effect
    state: StepState
    before: Facts = field(default_factory=dict)
    found: Facts = field(default_factory=dict)
    began_at_ns: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to a step. wait_s: not to be asked again earlier. text: why it is not done."""

    word: Word
    facts: Facts = field(default_factory=dict)
    text: str = ""
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Look:
    """The answer to a look-up. facts: what the step would have found out. text: why unsure."""

    seen: Seen
    facts: Facts = field(default_factory=dict)
    text: str = ""


def unseen(outcome: Outcome) -> Look:
    """What a look-up tells whose question failed."""
    return Look(Seen.LATER if outcome.word is Word.LATER else Seen.UNSURE, text=outcome.text)


@dataclass(frozen=True, slots=True)
class Errand:
    """What a launcher has to know of an order.

    mark: names the order on the launcher's side, unlike any other in the world. env: for the new
    start. facts: what earlier steps found out.
    """

    run: str
    label: str
    mark: str
    step: int
    env: Mapping[str, str]
    exclude_nodes: tuple[str, ...]
    reason: str
    facts: Facts = field(default_factory=dict)


def mark(run_key: str, order_id: int, requested_at_ns: int) -> str:
    """A name for the order's job: lower case letters, digits and "-", at most 32 characters.

    The digits at its end keep the orders of two servers apart that share a cluster.
    """
    digest = hashlib.sha256(f"{run_key}\x00{order_id}\x00{requested_at_ns}".encode()).hexdigest()
    return f"rb-{order_id}-{digest[:8]}"


def next_move(steps: Sequence[Step]) -> tuple[Move, Step | None]:
    """The first step that is not done, and whether it may be begun or has to be looked up."""
    for step in steps:
        if step.state is StepState.DOING:
            return Move.LOOK, step
        if step.state is StepState.PLANNED:
            return Move.BEGIN, step
    return Move.FINISH, None


def known(steps: Sequence[Step]) -> dict[str, str]:
    """Everything that the steps have found out, of the later one where two say the same."""
    return {name: value for step in steps for name, value in step.found.items()}


def too_long(step: Step, now_ns: int) -> bool:
    """Whether a step has been put off for longer than GIVE_UP_S."""
    return step.began_at_ns > 0 and now_ns - step.began_at_ns > GIVE_UP_S * 1e9
