"""Non-finite losses and gradients, and a loss scale that keeps falling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

KEPT = 9
"""Bad rows that are remembered, beside the newest."""

BOUND = 1e100
"""fp32 ends at 3e38: what lies beyond is as good as infinite, and sums of it would be."""


def usable(value: float) -> bool:
    """Whether a value is a number that a training can have computed."""
    return -BOUND < value < BOUND


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
    """bad_loss, bad_grad: numbers of the last rows without a usable loss or gradient, newest last.
    bad_grad_only: of these rows the ones whose loss was usable. scales: the last loss scales."""

    bad_loss: list[int] = []
    bad_grad: list[int] = []
    bad_grad_only: list[int] = []
    scales: list[float] = []


def bad_loss(loss: float | None, grad_norm: float | None) -> bool:
    """Whether a row has no usable loss although it stands for a step.

    NaN, inf and what no training computes (BOUND); also 0.0 or nothing beside a gradient that is
    no number: Hugging Face prints "loss: 0.0, grad_norm: nan" and Megatron leaves the loss out of
    such a line.
    """
    if loss is not None and not usable(loss):
        return True
    no_gradient = grad_norm is not None and not usable(grad_norm)
    return no_gradient and (loss is None or loss == 0.0)


def take_flags(state: NumericsState, at: int, loss: float | None, grad: float | None) -> bool:
    """Count the row number `at` of the attempt; whether its loss can be used."""
    no_gradient = grad is not None and not usable(grad)
    lost = bad_loss(loss, grad)
    if lost:
        state.bad_loss = [*state.bad_loss[-KEPT:], at]
    if no_gradient:
        state.bad_grad = [*state.bad_grad[-KEPT:], at]
        if not lost:
            state.bad_grad_only = [*state.bad_grad_only[-KEPT:], at]
    return not lost


def take_scale(state: NumericsState, scale: float | None) -> None:
    """Count one loss scale; None, no number and nothing above 0 say nothing."""
    if scale is not None and math.isfinite(scale) and scale > 0:
        state.scales.append(scale)
        del state.scales[:-10]


def loss_lost(state: NumericsState, at: int, policy: NumericsPolicy) -> bool:
    """Whether enough of the last losses are no numbers, as of row `at`."""
    return _within(state.bad_loss, at, policy.loss_window) >= policy.loss_rows


def gradients_lost(state: NumericsState, at: int, policy: NumericsPolicy) -> bool:
    """Whether non-finite gradients repeat, as of row `at`."""
    return _within(state.bad_grad, at, policy.grad_window) >= policy.grad_rows


def _within(rows: list[int], at: int, window: int) -> int:
    return sum(row > at - window for row in rows)


def scale_falling(state: NumericsState, policy: NumericsPolicy) -> bool:
    """Whether the loss scale lost 2^scale_halvings within the last rows."""
    if len(state.scales) < 2:
        return False
    highest = max(state.scales[-policy.scale_window :])
    return math.log2(highest / state.scales[-1]) >= policy.scale_halvings


def calm(rows: list[int], at: int, policy: NumericsPolicy) -> bool:
    """Whether the last rows are all numbers again, as of row `at`."""
    return not rows or at - rows[-1] >= policy.calm_rows
