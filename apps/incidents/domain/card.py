"""The triage card: what it looks like, why it may be, what to do, and what either choice costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from apps.core.records import Candidate, Finding
from apps.incidents.domain.advice import advise
from apps.incidents.domain.checks import run_all
from apps.incidents.domain.clues import Clues
from apps.incidents.domain.incident import EarliestSignal, IncidentInfo, IncidentState
from apps.incidents.domain.scene import Scene
from apps.incidents.domain.shape import Shape, shape_of
from apps.incidents.domain.suggestion import (
    DEFAULT_POLICY,
    Advice,
    AdvicePolicy,
    Case,
    Move,
    exclude_of,
    target_of,
)
from apps.incidents.domain.weigh import Suspicion, leading, weigh

NO_CAUSE = "no known cause"
_SHORTEST_STEP_S = 1e-6
"""A clock that says less is broken."""
_NOT_WAITED_FOR = (Shape.FAILURE, Shape.PLANNED, Shape.MEASURE, Shape.HEALED)


@dataclass(frozen=True, slots=True)
class Cost:
    """steps: of training. hours, gpu_hours: None if the time of a step or the GPUs are unknown."""

    steps: int
    hours: float | None
    gpu_hours: float | None

    @property
    def seconds(self) -> float | None:
        """The same as `hours`."""
        return None if self.hours is None else self.hours * 3600


@dataclass(frozen=True, slots=True)
class Card:
    """The card of one incident. All of it is a suggestion with its reasons.

    cause: the leading one, None if no test makes one likely. causes: all, most likely first.
    waiting: what is lost if it has not healed after `wait_steps`, None once they are over. hour:
    what each further hour costs while it is not over. going_back: what is done again. skip: steps
    whose data to skip, both included; only when the data are the cause. exclude: hosts the next
    start should leave out.
    """

    shape: Shape
    onset_step: int | None
    onset_time_ns: int
    earliest: EarliestSignal | None
    cause: Suspicion | None
    causes: tuple[Suspicion, ...]
    advice: Advice
    waiting: Cost | None
    going_back: Cost | None
    hour: Cost | None
    skip: tuple[int, int] | None
    exclude: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def headline(self) -> str:
        """The cause in a few words."""
        return self.cause.text if self.cause else NO_CAUSE


@dataclass(frozen=True, slots=True)
class Given:
    """What a card is made of. skipped: (attempt, steps whose data it was told to skip)."""

    incident: IncidentInfo
    findings: Sequence[Finding]
    clues: Clues
    candidates: Sequence[Candidate] = ()
    skipped: Sequence[tuple[int, tuple[int, int]]] = ()


def card_of(given: Given, policy: AdvicePolicy = DEFAULT_POLICY) -> Card:
    """The card of an incident with at least one finding. Total: whatever is known or not known."""
    incident, clues = given.incident, given.clues
    shape = shape_of(given.findings)
    scene = Scene(incident, tuple(given.findings), shape, clues, tuple(given.skipped))
    causes = weigh(run_all(scene), incident.hypotheses)
    case = Case(scene, leading(causes), target_of(given.candidates, clues.tried))
    advice = advise(case, policy)
    skip = _skip(case, policy)
    return Card(
        shape=shape,
        onset_step=incident.onset_step,
        onset_time_ns=incident.onset_time_ns,
        earliest=incident.earliest_signal,
        cause=case.cause,
        causes=causes,
        advice=advice,
        waiting=_waiting(case, advice, policy),
        going_back=None if case.target is None else _cost(case.target.lost_steps, clues),
        hour=_hour(case),
        skip=skip,
        exclude=exclude_of(case),
        warnings=_warnings(case, advice),
    )


def _cost(steps: int, clues: Clues) -> Cost:
    hours = None if clues.step_s is None else steps * clues.step_s / 3600
    gpu_hours = None if hours is None or not clues.gpus else hours * clues.gpus
    return Cost(steps, hours, gpu_hours)


def _waiting(case: Case, advice: Advice, policy: AdvicePolicy) -> Cost | None:
    """The steps that are lost if it has not healed after `wait_steps`; None where nothing heals."""
    newest, onset = case.scene.clues.newest_step, case.scene.struck
    over = case.scene.shape in _NOT_WAITED_FOR or not case.scene.clues.running
    if over or onset is None or newest is None or advice.move is Move.LOOK:
        return None
    left = onset + policy.wait_steps - newest
    return _cost(left, case.scene.clues) if left > 0 else None


def _hour(case: Case) -> Cost | None:
    clues = case.scene.clues
    over = case.scene.incident.state is IncidentState.RESOLVED
    idle = over or not clues.running or case.scene.shape in _NOT_WAITED_FOR
    if idle or clues.step_s is None or clues.step_s < _SHORTEST_STEP_S:
        return None
    return Cost(round(3600 / clues.step_s), 1.0, float(clues.gpus) if clues.gpus else None)


def _skip(case: Case, policy: AdvicePolicy) -> tuple[int, int] | None:
    """The steps whose data to skip: those of the spike, at least `skip_least` of them."""
    onset = case.scene.struck
    if case.name != "data" or onset is None:
        return None
    ends = [f.closed_step or f.seen_step or onset for f in case.scene.findings]
    first = max(0, onset - policy.skip_before)
    last = min(max(*ends, onset, first + policy.skip_least - 1), first + policy.skip_most - 1)
    return first, last


def _warnings(case: Case, advice: Advice) -> tuple[str, ...]:
    """What a person should know before going back."""
    clues, found = case.scene.clues, list[str]()
    if clues.tried:
        steps = ", ".join(f"{step:,}" for step in sorted(clues.tried))
        found.append(
            f"It came back after going on from step {steps}: a later checkpoint may be damaged"
            " already, so older ones are offered, and without a changed cause it may come again."
        )
    if case.cause is None and advice.move in (Move.ROLL_BACK, Move.FIX_FIRST):
        found.append(
            "No cause is known, so going back removes none: it may come again at the same step."
        )
    if case.name == "data" and advice.target is not None:
        found.append("Going back without skipping these steps repeats the spike.")
    lost = advice.target is not None and not clues.layers_logged
    if lost and case.scene.shape not in (Shape.FAILURE, Shape.PLANNED):
        found.append(
            "No statistics of layers are logged: the damage may be older than the loss shows."
        )
    return tuple(found)


def plain_card(card: Card) -> dict[str, Any]:
    """The card for programs: plain values, the advice beside its parts."""
    advice = card.advice
    return {
        "shape": card.shape.value,
        "headline": card.headline,
        "advice": advice.move.value,
        "sentence": advice.sentence,
        "reason": advice.reason,
        "repair": advice.repair,
        "step": advice.target.step if advice.target else None,
        "practice": advice.practice.cited if advice.practice else None,
        "causes": [asdict(suspicion) for suspicion in card.causes],
        "waiting": asdict(card.waiting) if card.waiting else None,
        "hour": asdict(card.hour) if card.hour else None,
        "going_back": asdict(card.going_back) if card.going_back else None,
        "skip": card.skip,
        "exclude": list(card.exclude),
        "warnings": list(card.warnings),
    }
