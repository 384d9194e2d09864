"""What each cause asks for."""

from __future__ import annotations

from collections.abc import Callable

from apps.incidents.domain.faults import from_outside, of_host
from apps.incidents.domain.shape import Shape
from apps.incidents.domain.suggestion import (
    Advice,
    Case,
    Move,
    blame_of,
    early,
    exclude_of,
    fault_of,
    made,
)


def hardware_repair(case: Case) -> str:
    """What is done about the suspected hosts."""
    hosts = ", ".join(exclude_of(case))
    return f"Exclude {hosts} from the next start." if hosts else "Test the hosts first."


def _hardware(case: Case) -> Advice:
    reason = "The weights are suspected to be damaged in one place, and training goes on with them."
    return made(case, Move.ROLL_BACK, reason, hardware_repair(case))


def _failure(case: Case) -> Advice:
    fault, blame = fault_of(case), blame_of(case)
    if of_host(fault, blame):
        hosts = ", ".join(exclude_of(case))
        repair = f"Exclude {hosts} from the next start." if hosts else ""
        reason = "The job is dead and its state is whole: start again at the newest checkpoint."
        return made(case, Move.ROLL_BACK, reason, repair)
    if from_outside(fault, blame):
        reason = "The job was ended from outside and its state is whole: start it again."
        return made(case, Move.ROLL_BACK, reason)
    reason = "The program ended by an error of its own, and a restart may meet it again."
    return made(case, Move.FIX_FIRST, reason, "Read the first failure below.")


def _learning_rate(case: Case) -> Advice:
    reason = (
        "The learning rate is what changed, and going back without repairing it fails:"
        " in our own test the loss exploded again."
    )
    return made(case, Move.FIX_FIRST, reason, "Set the learning rate back.")


def _change(case: Case) -> Advice:
    reason = "What changed with this attempt is still there after going back."
    return made(case, Move.FIX_FIRST, reason, "Undo the change, or go back with the old one.")


def _resume(case: Case) -> Advice | None:
    seen = case.scene.clues.resume
    if seen is None:
        return None
    if seen.optimizer is False:
        reason = "The checkpoint it went on from holds no optimizer state."
        return made(case, Move.FIX_FIRST, reason, "Restore the moments, or warm up again.")
    if early(case):
        return made(case, Move.WAIT, "The first rows after a restart are often a transient.")
    return None


def _numerics(case: Case) -> Advice:
    reason = "The numbers overflow, and the same state overflows again."
    repair = "Lower the learning rate or clip tighter, and check the number format."
    return made(case, Move.FIX_FIRST, reason, repair)


def _data(case: Case) -> Advice:
    shape = case.scene.shape
    if shape in (Shape.LEVEL_SHIFT, Shape.SLOW_DIVERGENCE):
        reason = (
            "Other passes over the same data move in the same way: it is the data, not the state."
        )
        return made(case, Move.WAIT, reason)
    if shape is Shape.DIVERGENCE and early(case):
        return made(case, Move.WAIT, "A spike of bad data usually heals under clipping.")
    reason = (
        "It does not heal, and going back over the same data repeats it:"
        " in our own test the loss went to 8.7 again."
    )
    return made(case, Move.ROLL_BACK, reason, "Skip the data of these steps.")


def _optimizer(case: Case) -> Advice | None:
    if early(case) and case.scene.shape is Shape.DIVERGENCE:
        return None
    reason = "The state of the optimisation moved before the loss, and it does not come back."
    return made(case, Move.ROLL_BACK, reason, "Lower the learning rate or clip tighter with it.")


def _reported(case: Case) -> Advice:
    return made(case, Move.LOOK, "The training script says so by itself; nothing else was seen.")


ANSWERS: dict[str, Callable[[Case], Advice | None]] = {
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
"""cause -> its answer; None where the shape and the time decide."""
