"""Where a run is heading: by its siblings, and by runs of other sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apps.core.errors import AppError
from apps.metrics import siblings
from apps.metrics.curves import FINAL_CELLS, Curve, floats
from apps.metrics.domain.extrapolation import Extrapolation, Point, extrapolate
from apps.metrics.domain.schedule import shape_distance
from apps.metrics.domain.sibling import CELLS, Floats
from apps.metrics.siblings import Shown
from apps.metrics.store import SiblingSet

FIRST_RATIO = 0.3
"""Before this part of the schedule nothing is foretold: it was never measured."""
OTHER_SHAPE = 0.2
"""Learning rates further apart than this share of their peak follow another schedule."""


@dataclass(frozen=True, slots=True)
class Place:
    """The newest cell of a run that is over. ratio: of the schedule."""

    ratio: float
    value: float
    expected: float
    width: float

    @property
    def above(self) -> bool:
        """Whether it lies above the band."""
        return self.value > self.expected + self.width


@dataclass(frozen=True, slots=True)
class Ending:
    """The final loss if the run keeps its distance from its siblings. error: what 9 of 10 of them
    strayed less than, after the same part of the schedule, times two."""

    loss: float
    error: float


def place(shown: Shown) -> Place | None:
    """Where the run is in its band; None where the band says nothing yet."""
    known = np.flatnonzero(np.isfinite(shown.own))
    at = int(known[-1]) if len(known) else -1
    if at < 0 or not np.isfinite(shown.center[at]) or not np.isfinite(shown.width[at]):
        return None
    ratio = (at + 1) / CELLS
    return Place(ratio, *(float(x[at]) for x in (shown.own, shown.center, shown.width)))


def ending(shown: Shown) -> Ending:
    """The final loss by the siblings; AppError says why there is none."""
    if shown.done >= CELLS:
        raise AppError("its schedule is over")
    if shown.compared < 2:
        raise AppError("it takes two siblings, of which one tells how far off the other is")
    if shown.done < FIRST_RATIO * CELLS:
        raise AppError(f"told from {100 * FIRST_RATIO:.0f} % of the schedule on")
    if shown.departed:
        raise AppError("it has left its band, and nobody knows where it goes from here")
    last = slice(CELLS - FINAL_CELLS, CELLS)
    loss, error = (_middle(values[last]) for values in (shown.center, shown.width))
    if not np.isfinite(loss) or not np.isfinite(error):
        raise AppError("no sibling has reached the end of its schedule")
    return Ending(loss, error)


def ending_or_why(shown: Shown | None) -> Ending | AppError:
    """The same, with the reason as a value."""
    try:
        return ending(shown) if shown else AppError("no part of its schedule is over yet")
    except AppError as error:
        return error


def extrapolation_or_why(chosen: SiblingSet) -> Extrapolation | AppError:
    """`extrapolation`, with the reason as a value."""
    try:
        return extrapolation(chosen)
    except AppError as error:
        return error


def _middle(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else np.nan


def extrapolation(chosen: SiblingSet) -> Extrapolation:
    """The final loss by the final losses of completed runs; AppError says why there is none."""
    if chosen.compute is None:
        raise AppError("nobody says how much compute this run takes")
    read = zip(chosen.references, siblings.known(chosen).curves, strict=True)
    points = [
        Point(one.compute, curve.final)
        for one, curve in read
        if one.compute is not None and curve.final is not None
    ]
    return extrapolate(points, chosen.compute)


def other_shape(own: Floats, curve: Curve) -> float | None:
    """How far the learning rate of a reference is from that of the run, where that matters."""
    off = shape_distance(own, floats(curve.lr))
    return off if off is not None and off > OTHER_SHAPE else None
