"""Non-finite losses and gradients, and a loss scale that keeps falling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec


@dataclass(frozen=True, slots=True)
class NumericsPolicy:
    """Rows are logged rows.

    Two of three losses that are no number need a person. A healthy fp16 run has isolated inf
    gradients (five in one public log), so gradients need three of five, after the start-up rows in
    which a loss scaler finds its scale. A scale that falls by 2^4 within ten rows is on its way to
    its floor (13B: three halvings, then the loss rose from 2.8 to 8.7; 104B: five in six steps).
    """

    loss_rows: int = 2
    loss_window: int = 3
    grad_rows: int = 3
    grad_window: int = 5
    start_rows: int = 60
    scale_window: int = 10
    scale_halvings: float = 4.0
    calm_rows: int = 10


class NumericsState(msgspec.Struct):
    """bad_loss, bad_grad: flags of the last rows, newest last. scales: the last loss scales."""

    bad_loss: list[bool] = []
    bad_grad: list[bool] = []
    scales: list[float] = []


def bad_loss(loss: float | None, grad_norm: float | None) -> bool:
    """Whether a row has no usable loss although it stands for a step.

    NaN and inf; also 0.0 or nothing beside a gradient that is no number: Hugging Face prints
    "loss: 0.0, grad_norm: nan" and Megatron leaves the loss out of such a line.
    """
    if loss is not None and not math.isfinite(loss):
        return True
    no_gradient = grad_norm is not None and not math.isfinite(grad_norm)
    return no_gradient and (loss is None or loss == 0.0)


def take_flags(state: NumericsState, loss: float | None, grad_norm: float | None) -> None:
    """Count one row."""
    state.bad_loss.append(bad_loss(loss, grad_norm))
    state.bad_grad.append(grad_norm is not None and not math.isfinite(grad_norm))
    del state.bad_loss[:-10], state.bad_grad[:-10]


def take_scale(state: NumericsState, scale: float | None) -> None:
    """Count one loss scale; None, no number and nothing above 0 say nothing."""
    if scale is not None and math.isfinite(scale) and scale > 0:
        state.scales.append(scale)
        del state.scales[:-10]


def loss_lost(state: NumericsState, policy: NumericsPolicy) -> bool:
    """Whether enough of the last losses are no numbers."""
    return sum(state.bad_loss[-policy.loss_window :]) >= policy.loss_rows


def gradients_lost(state: NumericsState, policy: NumericsPolicy) -> bool:
    """Whether non-finite gradients repeat."""
    return sum(state.bad_grad[-policy.grad_window :]) >= policy.grad_rows


def scale_falling(state: NumericsState, policy: NumericsPolicy) -> bool:
    """Whether the loss scale lost 2^scale_halvings within the last rows."""
    if len(state.scales) < 2:
        return False
    highest = max(state.scales[-policy.scale_window :])
    return math.log2(highest / state.scales[-1]) >= policy.scale_halvings


def calm(flags: list[bool], policy: NumericsPolicy) -> bool:
    """Whether the last rows are all numbers again."""
    recent = flags[-policy.calm_rows :]
    return len(recent) == policy.calm_rows and not any(recent)
