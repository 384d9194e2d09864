"""The final loss of a large run from those of small ones: L = E + A * C ** -alpha."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from apps.core.errors import AppError

Floats = npt.NDArray[np.float64]
MIN_SIZES = 3
MAX_REACH = 100.0
"""Three points are the fewest that fix three numbers; nothing says how the curve goes on further
than a hundredfold. Source: rule 2 of section 8 of the loss-spike study."""
ALPHAS = np.geomspace(0.01, 1.5, 300)
SAME_SIZE_RATIO = 1.1
"""Computes nearer than this are one size."""


@dataclass(frozen=True, slots=True)
class Point:
    """A completed run: its compute (any unit) and its final loss."""

    compute: float
    loss: float


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """loss: of the target. error: mean distance of each point from what the others say of it.

    reach: how many times the largest point the target is. floor: E. shape_kept: the points were
    too few to fit alpha again without one of them, so that the error leans on the full fit.
    """

    loss: float
    error: float
    reach: float
    floor: float
    alpha: float
    sizes: int
    shape_kept: bool


def extrapolate(points: Sequence[Point], target: float) -> Extrapolation:
    """The final loss at a compute of `target`; AppError says why there is none.

    Needs completed runs of at least MIN_SIZES sizes, none beyond a finite positive loss and
    compute, and a target at most MAX_REACH times the largest.
    """
    if not all(np.isfinite((p.compute, p.loss)).all() and p.compute > 0 < p.loss for p in points):
        raise AppError("a compute or a final loss is missing")
    sizes = _sizes(points)
    if sizes < MIN_SIZES:
        raise AppError(
            f"it takes completed runs of {MIN_SIZES} sizes, here is {sizes}",
            hint="choose proxies of other sizes that ran to their end",
        )
    reach = target / max(p.compute for p in points)
    if not 0 < reach <= MAX_REACH:
        raise AppError(
            f"this run has {reach:.0f} times the compute of its largest proxy",
            hint=f"up to {MAX_REACH:.0f} times can be told",
        )
    compute = np.array([p.compute for p in points])
    loss = np.array([p.loss for p in points])
    floor, scale, alpha = _fit(compute, loss, ALPHAS)
    kept = len(points) <= MIN_SIZES
    return Extrapolation(
        loss=_at(target, compute, (floor, scale, alpha)),
        error=_left_out(compute, loss, np.array([alpha]) if kept else ALPHAS),
        reach=reach,
        floor=floor,
        alpha=alpha,
        sizes=sizes,
        shape_kept=kept,
    )


def _sizes(points: Sequence[Point]) -> int:
    ordered = sorted(p.compute for p in points)
    steps = pairwise(ordered)
    return min(len(ordered), 1) + sum(b > SAME_SIZE_RATIO * a for a, b in steps)


def _fit(compute: Floats, loss: Floats, alphas: Floats) -> tuple[float, float, float]:
    """(E, A, alpha) of the smallest squares with E and A not below 0; A for compute in units of
    its largest."""
    best = (np.inf, (float(loss.min()), 0.0, 0.0))
    for alpha in alphas.tolist():
        x = (compute / compute.max()) ** -alpha
        spread = float(((x - x.mean()) ** 2).sum())
        slope = float(((x - x.mean()) * (loss - loss.mean())).sum()) / spread if spread else 0.0
        scale = max(0.0, slope)
        floor = float(loss.mean() - scale * x.mean())
        if floor < 0:
            floor, scale = 0.0, max(0.0, float((x * loss).sum() / (x * x).sum()))
        miss = float(((floor + scale * x - loss) ** 2).sum())
        if miss < best[0]:
            best = (miss, (floor, scale, alpha))
    return best[1]


def _at(target: float, compute: Floats, fit: tuple[float, float, float]) -> float:
    floor, scale, alpha = fit
    return floor + scale * float((target / compute.max()) ** -alpha)


def _left_out(compute: Floats, loss: Floats, alphas: Floats) -> float:
    misses = []
    for i in range(len(loss)):
        others, values = np.delete(compute, i), np.delete(loss, i)
        told = _at(float(compute[i]), others, _fit(others, values, alphas))
        misses.append(abs(told - float(loss[i])))
    return float(np.mean(misses))
