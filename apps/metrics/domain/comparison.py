"""Two attempts of one series, step by step: where they part and by how much. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
SAMPLES = 24


@dataclass(frozen=True, slots=True)
class Pair:
    """Both values at one step; either may be NaN or infinite."""

    step: int
    a: float
    b: float

    @property
    def difference(self) -> float:
        """b - a; NaN where either is."""
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two curves say at the steps both have.

    differs_at: the first of these steps whose values are not the same bit for bit (NaN equals NaN).
    largest: where they lie furthest apart. mean_difference: of b - a. Both over finite pairs, None
    without one. samples: evenly spread, with the first and the last common step.
    """

    common: int
    first_step: int | None
    last_step: int | None
    differs_at: int | None
    largest: Pair | None
    mean_difference: float | None
    samples: tuple[Pair, ...]


def compare(a: tuple[Ints, Floats], b: tuple[Ints, Floats], samples: int = SAMPLES) -> Comparison:
    """Compares (steps, values) with (steps, values); steps ascend.

    A step that was logged twice counts once, with the later value. O(n log n).
    """
    (step_a, value_a), (step_b, value_b) = _once(*a), _once(*b)
    steps, at_a, at_b = np.intersect1d(step_a, step_b, assume_unique=True, return_indices=True)
    if not len(steps):
        return Comparison(0, None, None, None, None, None, ())
    left, right = value_a[at_a], value_b[at_b]
    differ = np.flatnonzero((left != right) & ~(np.isnan(left) & np.isnan(right)))
    spread = np.unique(np.linspace(0, len(steps) - 1, min(samples, len(steps))).round().astype(int))

    def pair(at: int) -> Pair:
        return Pair(int(steps[at]), float(left[at]), float(right[at]))

    finite = np.flatnonzero(np.isfinite(left) & np.isfinite(right))
    with np.errstate(over="ignore"):
        gap = right[finite] - left[finite]
    return Comparison(
        common=len(steps),
        first_step=int(steps[0]),
        last_step=int(steps[-1]),
        differs_at=int(steps[differ[0]]) if len(differ) else None,
        largest=pair(int(finite[np.argmax(np.abs(gap))])) if len(finite) else None,
        mean_difference=_mean(gap),
        samples=tuple(pair(int(at)) for at in spread),
    )


def _mean(gap: Floats) -> float | None:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(gap.mean()) if len(gap) else None


def _once(step: Ints, value: Floats) -> tuple[Ints, Floats]:
    """The last of the values of each step."""
    last = np.append(np.flatnonzero(np.diff(step)), len(step) - 1) if len(step) else slice(0, 0)
    return step[last], value[last]
