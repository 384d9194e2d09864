"""Wait, go back, repair first, or look: a suggestion with its reason, never an order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from apps.core.records import Candidate
from apps.incidents.domain.checks import Scene
from apps.incidents.domain.incident import IncidentState, Resolution
from apps.incidents.domain.practice import Practice, practice_for
from apps.incidents.domain.shape import Shape
from apps.incidents.domain.weigh import UNKNOWN, Suspicion


class Move(StrEnum):
    """What is suggested."""

    WAIT = "wait"
    ROLL_BACK = "roll back"
    FIX_FIRST = "fix first"
    LOOK = "look"


@dataclass(frozen=True, slots=True)
class AdvicePolicy:
    """Steps and shares.

    wait_steps: BLOOM-176B was back after about 30 steps, a spike of the 13B run after about 500;
    of the incidents that healed in our own runs none took more than 100. falling_ratio: under
    clipping a bad batch loses most of its peak within a few rows, a wrong learning rate keeps more
    than half for dozens of them (own runs). skip_least, skip_most: PaLM skipped 200 to 500 batches,
    own runs with 6 and with 200 skipped ended alike. skip_before: a batch shows one step later.
    """

    wait_steps: int = 100
    falling_ratio: float = 0.5
    skip_least: int = 100
    skip_most: int = 500
    skip_before: int = 2


DEFAULT_POLICY = AdvicePolicy()


@dataclass(frozen=True, slots=True)
class Advice:
    """A suggestion. reason: one sentence. target: the checkpoint to go back to, None without one.

    repair: what to change before or with it, "" if nothing is known to change. practice: who did
    so in such a case, None if nobody is known.
    """

    move: Move
    reason: str
    target: Candidate | None = None
    repair: str = ""
    practice: Practice | None = None

    @property
    def short(self) -> str:
        """ "Suggestion: fix first, then go back to step 900."."""
        to = "" if self.target is None else f" to step {self.target.step:,}"
        then = f", then go back{to}" if to and self.move is Move.FIX_FIRST else ""
        return f"Suggestion: {self.move}{to if self.move is Move.ROLL_BACK else then}."

    @property
    def sentence(self) -> str:
        """The same with the reason and what to change: for a mail or a program."""
        return f"{self.short} {self.reason}{f' {self.repair}' if self.repair else ''}"


@dataclass(frozen=True, slots=True)
class Case:
    """What the advice is decided on. target: the best eligible checkpoint not tried yet."""

    scene: Scene
    cause: Suspicion | None
    target: Candidate | None

    @property
    def name(self) -> str:
        return self.cause.cause if self.cause else UNKNOWN


def target_of(candidates: Sequence[Candidate], tried: Sequence[int]) -> Candidate | None:
    """The best eligible candidate older than every checkpoint it came back from.

    tried: first steps logged from such a checkpoint: the newest one at or before that step.
    """
    if not tried:
        return next((c for c in candidates if c.eligible), None)
    first = min(tried)
    limit = max((c.step for c in candidates if c.step <= first), default=first)
    return next((c for c in candidates if c.eligible and c.step < limit), None)


def advise(case: Case, policy: AdvicePolicy = DEFAULT_POLICY) -> Advice:
    """The suggestion for a case. "roll back" only with a checkpoint to go back to."""
    for rule in (_over, _by_shape, _falling, _by_cause):
        made = rule(case, policy)
        if made is not None:
            return made
    return _by_time(case, policy)


def _made(case: Case, move: Move, reason: str, repair: str = "") -> Advice:
    """The advice with what fits to it: no rollback without a checkpoint, the practice cited."""
    target = case.target if move in (Move.ROLL_BACK, Move.FIX_FIRST) else None
    tried = case.scene.clues.tried
    if target is not None and tried:
        reason = f"It came back after going on from step {min(tried):,}. {reason}"
    if move is Move.ROLL_BACK and target is None:
        move = Move.FIX_FIRST if repair else Move.LOOK
        reason = f"{reason} No whole checkpoint before the onset is left to go back to."
    ended = case.scene.incident.resolution not in ("", "closed")
    practice = None if ended else practice_for(move.value, case.scene.shape, case.name)
    return Advice(move, reason, target, repair, practice)


def _over(case: Case, policy: AdvicePolicy) -> Advice | None:
    del policy
    incident = case.scene.incident
    if incident.state is IncidentState.MITIGATED:
        return _made(
            case, Move.WAIT, "Something was done already: the next steps tell whether it helped."
        )
    if incident.state is not IncidentState.RESOLVED:
        return None
    if case.name == "hardware" and incident.resolution == Resolution.CLOSED:
        return _damaged(case)
    how = {
        "recovered": "The rollback is verified.",
        "manual": "A person ended it.",
    }.get(incident.resolution, "It is back in its band by itself.")
    return _made(case, Move.WAIT, f"{how} There is nothing to go back for.", _after(case))


def _damaged(case: Case) -> Advice:
    """Own runs: trained on from the damaged weights the evaluation was 2.358 instead of 2.175."""
    reason = (
        "The loss came back, but weights that were changed from outside stay changed:"
        " in our own test such a run ended 8 % worse than one that went back."
    )
    return _made(case, Move.ROLL_BACK, reason, _hardware_repair(case))


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
    return _made(case, move, reason, repair or _after(case))


def _falling(case: Case, policy: AdvicePolicy) -> Advice | None:
    """A spike that is falling already is waited for, whatever caused it."""
    clues = case.scene.clues
    falling = clues.left_ratio is not None and clues.left_ratio < policy.falling_ratio
    if not falling or case.scene.shape is not Shape.DIVERGENCE or not _early(case, policy):
        return None
    if case.name in ("learning_rate", "change", "hardware"):
        return None
    left = f"{100 * (clues.left_ratio or 0.0):.0f} % of it is left"
    return _made(case, Move.WAIT, f"The spike is falling back by itself: {left}.")


def _early(case: Case, policy: AdvicePolicy = DEFAULT_POLICY) -> bool:
    """Whether it still trains and may yet heal."""
    return case.scene.clues.running and _age(case) <= policy.wait_steps


def _age(case: Case) -> int:
    newest, onset = case.scene.clues.newest_step, case.scene.onset
    return 0 if newest is None or onset is None else max(0, newest - onset)


def _by_cause(case: Case, policy: AdvicePolicy) -> Advice | None:
    del policy
    answer = _ANSWERS.get(case.name)
    return answer(case) if answer else None


def _hosts(case: Case) -> tuple[str, ...]:
    """The hosts that the next start should leave out."""
    suspects = case.scene.incident.suspects
    named = [s.node for s in suspects if s.node and s.confidence >= 0.5]
    return tuple(dict.fromkeys(named)) if case.name in ("hardware", "failure") else ()


def exclude_of(case: Case) -> tuple[str, ...]:
    """The suspected hosts, when hardware is the cause; () otherwise."""
    if case.name == "failure" and not _of_hardware(case):
        return ()
    return _hosts(case)


def _hardware_repair(case: Case) -> str:
    hosts = ", ".join(exclude_of(case))
    return f"Exclude {hosts} from the next start." if hosts else "Test the hosts first."


def _hardware(case: Case) -> Advice:
    reason = "The weights are suspected to be damaged on one place, and training goes on with them."
    return _made(case, Move.ROLL_BACK, reason, _hardware_repair(case))


_SOFT = ("py_exception", "oom", "config", "assert", "early_exit", "data")


def _of_hardware(case: Case) -> bool:
    suspects = case.scene.incident.suspects
    fault = suspects[0].fault_class if suspects else ""
    return bool(fault) and not any(word in fault for word in _SOFT)


def _failure(case: Case) -> Advice:
    if not _of_hardware(case):
        reason = "The program ended by an error of its own, and a restart meets it again."
        return _made(case, Move.FIX_FIRST, reason, "Read the first failure below.")
    hosts = ", ".join(exclude_of(case))
    repair = f"Exclude {hosts} from the next start." if hosts else ""
    reason = "The job is dead and its state is whole: start again at the newest checkpoint."
    return _made(case, Move.ROLL_BACK, reason, repair)


def _learning_rate(case: Case) -> Advice:
    reason = (
        "The learning rate is what changed, and going back without repairing it fails:"
        " in our own test the loss exploded again."
    )
    return _made(case, Move.FIX_FIRST, reason, "Set the learning rate back.")


def _change(case: Case) -> Advice:
    reason = "What changed with this attempt is still there after going back."
    return _made(case, Move.FIX_FIRST, reason, "Undo the change, or go back with the old one.")


def _resume(case: Case) -> Advice | None:
    seen = case.scene.clues.resume
    if seen is None:
        return None
    if seen.optimizer is False:
        reason = "The checkpoint it went on from holds no optimizer state."
        return _made(case, Move.FIX_FIRST, reason, "Restore the moments, or warm up again.")
    if _early(case):
        return _made(case, Move.WAIT, "The first rows after a restart are often a transient.")
    return None


def _numerics(case: Case) -> Advice:
    reason = "The numbers overflow, and the same state overflows again."
    repair = "Lower the learning rate or clip tighter, and check the number format."
    return _made(case, Move.FIX_FIRST, reason, repair)


def _data(case: Case) -> Advice:
    shape = case.scene.shape
    if shape in (Shape.LEVEL_SHIFT, Shape.SLOW_DIVERGENCE):
        reason = (
            "Other passes over the same data move in the same way: it is the data, not the state."
        )
        return _made(case, Move.WAIT, reason)
    if shape is Shape.DIVERGENCE and _early(case):
        return _made(case, Move.WAIT, "A spike of bad data usually heals under clipping.")
    reason = (
        "It does not heal, and going back over the same data repeats it:"
        " in our own test the loss went to 8.7 again."
    )
    return _made(case, Move.ROLL_BACK, reason, "Skip the data of these steps.")


def _optimizer(case: Case) -> Advice | None:
    if _early(case) and case.scene.shape is Shape.DIVERGENCE:
        return None
    reason = "The state of the optimisation moved before the loss, and it does not come back."
    return _made(case, Move.ROLL_BACK, reason, "Lower the learning rate or clip tighter with it.")


def _reported(case: Case) -> Advice:
    return _made(case, Move.LOOK, "The training script says so by itself; nothing else was seen.")


_ANSWERS: dict[str, Callable[[Case], Advice | None]] = {
    "hardware": _hardware,
    "failure": _failure,
    "learning_rate": _learning_rate,
    "change": _change,
    "resume": _resume,
    "numerics": _numerics,
    "data": _data,
    "optimizer": _optimizer,
    "reported": _reported,
}


def _by_time(case: Case, policy: AdvicePolicy) -> Advice:
    """Nothing is known to have caused it: sudden ones get time to heal, slow ones get none."""
    shape = case.scene.shape
    if shape is Shape.FAILURE:
        return _made(case, Move.LOOK, "The job is dead and no line says why.")
    if shape is Shape.NONFINITE:
        return _made(case, Move.ROLL_BACK, "Weights that are no numbers do not heal.")
    if shape is Shape.SLOW_DIVERGENCE:
        return _made(case, Move.ROLL_BACK, "A slow divergence does not heal by itself.")
    if shape is Shape.RANK_APART:
        return _made(case, Move.LOOK, "More than one rank is apart, which no single host explains.")
    if shape is Shape.LEVEL_SHIFT and _early(case, policy):
        reason = "Data boundaries and epochs shift the level by a few percent without harm."
        return _made(case, Move.LOOK, reason)
    if _early(case, policy):
        return _made(case, Move.WAIT, "Sudden spikes often heal within dozens of steps.")
    return _made(case, Move.ROLL_BACK, f"It has not healed in {_age(case):,} steps.")
