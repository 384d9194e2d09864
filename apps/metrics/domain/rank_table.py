"""How far each rank is from the others over the last logged steps, for people. Plain NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from apps.core.robust import MAD_TO_SD
from apps.metrics.domain.rank_signals import PARTS, Meaning, RankSignal
from apps.metrics.records import Points

MOST_RANKS = 8
"""Ranks that are shown of a series: those furthest from the others."""


FLOOR_RATIO = 0.005


@dataclass(frozen=True, slots=True)
class RankDeviation:
    """One rank: its median value, how far that is from the median of the ranks at the same steps,
    in robust standard deviations of all ranks (half a percent where all are alike), and as a part
    of a step (None for what is no time). far: beyond what could be chance."""

    rank: int
    value: float
    apart: float
    z: float
    share: float | None
    far: bool


@dataclass(frozen=True, slots=True)
class SeriesTable:
    """One per-rank series. ranks: how many logged it. median: of all. rows: the furthest first."""

    signal: RankSignal
    ranks: int
    steps: tuple[int, int]
    median: float
    rows: tuple[RankDeviation, ...]


def table_of(signal: RankSignal, points: Points, paces: Mapping[int, float]) -> SeriesTable | None:
    """The table of a series; None without a finite value. O(values).

    Values that are no numbers count as not logged. Times are in seconds. A step logged twice by a
    rank counts once, with what arrived last.
    """
    if points.rank is None or not len(points.step):
        return None
    steps, row = np.unique(points.step, return_inverse=True)
    ranks, column = np.unique(points.rank, return_inverse=True)
    values = np.full((len(steps), len(ranks)), np.nan)
    finite = np.isfinite(points.value)
    values[row[finite], column[finite]] = points.value[finite] * signal.factor
    told = np.isfinite(values)
    known = told.any(axis=0)
    if not known.any():
        return None
    values, ranks = values[told.any(axis=1)][:, known], ranks[known]
    level = np.nanmedian(values, axis=0)
    apart = np.nanmedian(values - np.nanmedian(values, axis=1)[:, None], axis=0)
    spread = MAD_TO_SD * float(np.median(np.abs(apart - np.median(apart))))
    pace = _pace(signal, steps.tolist(), paces)
    usual = float(np.median(level))
    z = apart / max(spread, FLOOR_RATIO * abs(usual), 1e-12)
    order = np.argsort(-np.abs(apart), kind="stable")[:MOST_RANKS]
    rows = tuple(
        RankDeviation(
            rank=int(ranks[at]),
            value=float(level[at]),
            apart=float(apart[at]),
            z=float(z[at]),
            share=None if pace is None else float(apart[at]) / pace,
            far=_is_far(signal, float(apart[at]), float(z[at]), pace),
        )
        for at in order.tolist()
    )
    span = (int(steps[0]), int(steps[-1]))
    return SeriesTable(signal, len(ranks), span, usual, rows)


def _pace(signal: RankSignal, steps: list[int], paces: Mapping[int, float]) -> float | None:
    if signal.meaning not in PARTS:
        return None
    known = [paces[step] for step in steps if step in paces]
    return float(np.median(known)) if known else None


def _is_far(signal: RankSignal, apart: float, z: float, pace: float | None) -> bool:
    """The same limits as the detector's, without its persistence."""
    if pace is not None:
        side = -1 if signal.meaning is Meaning.COMMUNICATION else 1
        return side * z > 6 and side * apart > 0.05 * pace
    return signal.meaning is not Meaning.TOTAL and abs(z) > 10
