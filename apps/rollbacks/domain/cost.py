"""What a rollback costs: steps and GPU-hours to do again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CostBasis:
    """What the price is computed from; None where it is not known.

    last_step: newest step of the attempt that went wrong. step_s: median seconds of one step.
    step_tokens: tokens that one step reads.
    """

    last_step: int | None
    step_s: float | None
    gpus: int | None
    step_tokens: float | None = None


def lost_steps(basis: CostBasis, step: int) -> int:
    """Steps after `step` that have to be done again; 0 when the newest step is not known."""
    return max(0, (basis.last_step or 0) - step)


def lost_gpu_hours(basis: CostBasis, step: int) -> float | None:
    """GPU-hours to do them again at the median step time; None if time or GPUs are unknown."""
    if basis.last_step is None or basis.step_s is None or not basis.gpus:
        return None
    return lost_steps(basis, step) * basis.step_s * basis.gpus / 3600


def lost_tokens(basis: CostBasis, step: int) -> int | None:
    """Tokens that would be read again; None if it is not known how many a step reads."""
    if basis.last_step is None or not basis.step_tokens:
        return None
    return round(lost_steps(basis, step) * basis.step_tokens)
