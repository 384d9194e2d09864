"""Wait, go back, repair first, or look: a suggestion with its reason, never an order."""

from __future__ import annotations

from apps.incidents.domain.answers import ANSWERS, hardware_repair
from apps.incidents.domain.incident import IncidentState, Resolution
from apps.incidents.domain.shape import Shape
from apps.incidents.domain.suggestion import (
    DEFAULT_POLICY,
    Advice,
    AdvicePolicy,
    Case,
    Move,
    age,
    early,
    made,
)


def advise(case: Case, policy: AdvicePolicy = DEFAULT_POLICY) -> Advice:
    """The suggestion for a case. "roll back" only with a checkpoint to go back to."""
    for rule in (_over, _by_kind, _by_shape, _falling, _by_cause):
        found = rule(case, policy)
        if found is not None:
            return found
    return _by_time(case, policy)


def _over(case: Case, policy: AdvicePolicy) -> Advice | None:
    del policy
    incident = case.scene.incident
    if incident.state is IncidentState.MITIGATED:
        return made(
            case, Move.WAIT, "Something was done already: the next steps tell whether it helped."
        )
    if incident.state is not IncidentState.RESOLVED:
        return None
    lasting = case.scene.shape is Shape.HEALED or case.scene.clues.weights is not None
    if case.name == "hardware" and lasting and incident.resolution == Resolution.CLOSED:
        return _damaged(case)
    how = {
        "recovered": "The rollback is verified.",
        "manual": "A person ended it.",
    }.get(incident.resolution, "It is back in its band by itself.")
    return made(case, Move.WAIT, f"{how} There is nothing to go back for.", _after(case))


def _damaged(case: Case) -> Advice:
    """Own runs: trained on from the damaged weights the evaluation was 2.358 instead of 2.175."""
    reason = (
        "The signal came back, but weights that were changed from outside stay changed:"
        " in our own test such a run ended 8 % worse than one that went back."
    )
    return made(case, Move.ROLL_BACK, reason, hardware_repair(case))


def _after(case: Case) -> str:
    """What to do about the cause of something that is over."""
    if case.name == "data":
        return "Look at the data of these steps before another run reads them."
    return ""


_WORDS_OF_SHAPE: dict[Shape, tuple[Move, str, str]] = {
    Shape.PLANNED: (
        Move.WAIT,
        "The change was planned and the loss follows it.",
        "",
    ),
    Shape.TOO_GOOD: (
        Move.LOOK,
        "A loss that falls faster than learning can comes from data that repeat or leak.",
        "Check what the data loader has served since the onset.",
    ),
    Shape.MEASURE: (
        Move.LOOK,
        "The loss is not what moved, so going back would mend nothing.",
        "",
    ),
    Shape.PLATEAU: (
        Move.LOOK,
        "The loss stands still: nothing is lost by looking before anything is changed.",
        "",
    ),
    Shape.EARLY_SIGN: (
        Move.WAIT,
        "The loss has not followed yet, and most early signs pass.",
        "Keep the last checkpoints from being deleted.",
    ),
    Shape.HEALED: (
        Move.WAIT,
        "It healed by itself, and going back gains nothing after that.",
        "",
    ),
    Shape.OUTLIER: (
        Move.WAIT,
        "In healthy runs 318 of 320 such outliers were over after one or two rows.",
        "",
    ),
}


_SAVES = (
    "Until a save succeeds, any fault costs all steps since the last whole checkpoint.",
    "Look at the storage and at the process that saves.",
)
_KEPT = (
    "What is gone cannot be gone back to: every fault costs more from now on.",
    "Find out what deletes or damages checkpoints, and pin those that are left.",
)
_OF_KIND: dict[str, tuple[Move, str, str]] = {
    "save_failed": (Move.FIX_FIRST, *_SAVES),
    "save_late": (Move.FIX_FIRST, *_SAVES),
    "save_slow": (Move.LOOK, *_SAVES),
    "save_trend": (Move.LOOK, *_SAVES),
    "storage_full": (
        Move.FIX_FIRST,
        "A save that finds no room fails, and often takes the job with it.",
        "Make room before the next save, or stop what fills the storage.",
    ),
    "checkpoints_few": (Move.FIX_FIRST, *_KEPT),
    "checkpoint_lost": (Move.FIX_FIRST, *_KEPT),
    "pointer_wrong": (
        Move.FIX_FIRST,
        "A restart asks this file where to go on: it would start elsewhere, or from scratch.",
        "Write the pointer anew before anything is restarted.",
    ),
    "storage_unseen": (
        Move.LOOK,
        "Nobody knows whether the checkpoints are there.",
        "Look at the mount and at the storage worker of Lastgood.",
    ),
    "storage_risky": (Move.LOOK, *_KEPT),
    "no_contact": (
        Move.LOOK,
        "Nothing was heard of it, which does not mean that it stands: it may train on unheard.",
        "Look at the job before anything is restarted.",
    ),
    "wrong_start": (
        Move.FIX_FIRST,
        "It trains on from another state than the one that was chosen.",
        "Stop it, and start it with the resume point: lastgood resume-point RUN --prepare.",
    ),
    "wrong_folder": (
        Move.FIX_FIRST,
        "The next automatic restart may pick a checkpoint of the abandoned attempt.",
        "Let it save into the branch directory before it is restarted.",
    ),
    "silent_rank": (
        Move.LOOK,
        "A rank that hangs stops the job soon; one whose lines do not arrive hides what it does.",
        "Look at the process, and at the agent of its host.",
    ),
    "straggler": (
        Move.LOOK,
        "One rank makes all others wait: the job is slow, not wrong, and going back mends nothing.",
        "Test its host (clocks, temperature, data path, links); replace it at the next stop.",
    ),
    "throughput_drop": (
        Move.LOOK,
        "The job is slow, not wrong: going back would mend nothing.",
        "Look for the slow rank or host.",
    ),
    "eval_regression": (
        Move.LOOK,
        "The evaluation got worse: see whether the training loss or the evaluation data changed.",
        "",
    ),
}
"""What to do about incidents that are not about the training loss."""


def _by_kind(case: Case, policy: AdvicePolicy) -> Advice | None:
    del policy
    said = _OF_KIND.get(case.scene.incident.kind)
    if said is None or case.name in ("hardware", "failure", "planned"):
        return None
    move, reason, repair = said
    return Advice(move, reason, repair=repair)


_EARLY_CAUSES = ("learning_rate", "change", "numerics")


def _by_shape(case: Case, policy: AdvicePolicy) -> Advice | None:
    """Shapes whose answer does not depend on the cause, unless hardware is to blame, or a cause
    that will go on is known before the loss has followed."""
    del policy
    shape = case.scene.shape
    said = _WORDS_OF_SHAPE.get(shape)
    early = shape is Shape.EARLY_SIGN and case.name in _EARLY_CAUSES
    if said is None or early or case.name == "hardware":
        return None
    move, reason, repair = said
    return made(case, move, reason, repair or _after(case))


def _falling(case: Case, policy: AdvicePolicy) -> Advice | None:
    """A spike that is falling already is waited for, whatever caused it."""
    clues = case.scene.clues
    falling = clues.left_ratio is not None and clues.left_ratio < policy.falling_ratio
    if not falling or case.scene.shape is not Shape.DIVERGENCE or not early(case, policy):
        return None
    if case.name in ("learning_rate", "change", "hardware"):
        return None
    left = f"{100 * (clues.left_ratio or 0.0):.0f} % of it is left"
    return made(case, Move.WAIT, f"The spike is falling back by itself: {left}.")


def _by_cause(case: Case, policy: AdvicePolicy) -> Advice | None:
    del policy
    answer = ANSWERS.get(case.name)
    return answer(case) if answer else None


def _by_time(case: Case, policy: AdvicePolicy) -> Advice:
    """Nothing is known to have caused it: sudden ones get time to heal, slow ones get none."""
    shape = case.scene.shape
    if shape is Shape.FAILURE:
        return made(case, Move.LOOK, "The job is dead and no line says why.")
    if shape is Shape.NONFINITE:
        return made(case, Move.ROLL_BACK, "Weights that are no numbers do not heal.")
    if shape is Shape.SLOW_DIVERGENCE:
        return made(case, Move.ROLL_BACK, "A slow divergence does not heal by itself.")
    if shape is Shape.RANK_APART:
        return made(case, Move.LOOK, "More than one rank is apart, which no single host explains.")
    if shape is Shape.LEVEL_SHIFT and early(case, policy):
        reason = "Data boundaries and epochs shift the level by a few percent without harm."
        return made(case, Move.LOOK, reason)
    if early(case, policy):
        return made(case, Move.WAIT, "Sudden spikes often heal within dozens of steps.")
    return made(case, Move.ROLL_BACK, f"It has not healed in {age(case):,} steps.")
