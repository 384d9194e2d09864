"""Is a run on the curve of its siblings? Losses compared at the same part of the schedule.

The level of siblings differs, their shape does not: the loss of a run is expected at the curve of
its references plus the distance that it has kept from them. How far siblings stray from that says
how wide the band is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
CELLS = 400
"""A schedule is looked at in this many equal parts."""


@dataclass(frozen=True, slots=True)
class BandPolicy:
    """Cells are 1/400 of the schedule.

    The offset is the median distance over window_cells that ended gap_cells ago, so that a slow
    departure does not hide itself. The band is factor x the `quantile` of how far the references
    stray from each other within near_cells (and the run itself so far), lone_factor with a single
    reference; at least floor of the level. A departure is a median of persist_cells above it.

    Source: 7 public GPT-2 runs of 19,073 steps, each judged by every choice of 1, 2, 3 and 6 of the
    others: departures per healthy run 1 of 42, 0 of 105, 0 of 140, 0 of 7.
    """

    window_cells: int = 40
    gap_cells: int = 20
    start_cell: int = 20
    near_cells: int = 20
    own_cells: int = 100
    min_own_cells: int = 20
    persist_cells: int = 8
    settle_cells: int = 60
    quantile: float = 0.9
    factor: float = 2.0
    lone_factor: float = 2.5
    floor: float = 0.01


@dataclass(frozen=True, slots=True)
class Departure:
    """A stretch above the band, in cells. seen: the cell by which it had lasted. end: the cell by
    which it was over, None: it is not. value, expected, width: at its onset."""

    onset: int
    seen: int
    value: float
    expected: float
    width: float
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Band:
    """All by cell, NaN where nothing can be said. center: where the loss is expected, width: how
    far from it is still usual; past the newest cell of the run both are a forecast."""

    center: Floats
    width: Floats
    departures: tuple[Departure, ...]


def cells_done(newest_step: int, total_steps: int) -> int:
    """How many cells of the schedule lie wholly behind a step."""
    return max(0, min(CELLS, (newest_step + 1) * CELLS // max(1, total_steps)))


def first_step(cell: int, total_steps: int) -> int:
    """The first step of a cell."""
    return -(-cell * total_steps // CELLS)


def profile(step: Sequence[int], value: Sequence[float], total_steps: int) -> Floats:
    """The median loss of each cell; NaN where there is no finite one. Steps past the end are left
    out. O(n log n)."""
    at, values = np.asarray(step, dtype=np.int64), np.asarray(value, dtype=np.float64)
    fine = np.isfinite(values) & (at >= 0) & (at < total_steps)
    at, values = at[fine] * CELLS // max(1, total_steps), values[fine]
    order = np.argsort(at, kind="stable")
    cells, starts = np.unique(at[order], return_index=True)
    found = np.full(CELLS, np.nan)
    for cell, part in zip(cells, np.split(values[order], starts[1:]), strict=len(cells) > 0):
        found[cell] = np.median(part / 2) * 2  # the sum of two huge losses would overflow
    return found


def _median(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else np.nan


def _reach(cell: int, policy: BandPolicy) -> int:
    """The first cell that is too near to tell what is usual at `cell`."""
    return max(cell - policy.gap_cells, cell // 2)


@cache
def _windows(policy: BandPolicy, cells: int, first: int) -> tuple[Ints, Bools]:
    """By cell: the last so many cells that tell what is usual, padded, none before `first`; and
    which of them count."""
    end = np.array([_reach(cell, policy) for cell in range(CELLS)])[:, None]
    at = end - cells + np.arange(cells)
    late = np.arange(CELLS)[:, None] >= policy.start_cell
    return np.maximum(at, 0), (at >= first) & late


def _quantiles(table: Floats, q: float) -> tuple[Floats, Ints]:
    """By row: the quantile of the finite values (NaN without any), and how many they are."""
    table = np.sort(np.where(np.isfinite(table), table, np.nan), axis=1)
    known = np.isfinite(table).sum(axis=1)
    place = q * np.maximum(known - 1, 0)
    low = np.floor(place).astype(np.int64)
    rows, high = np.arange(len(table)), np.minimum(low + 1, np.maximum(known - 1, 0))
    left, right = table[rows, low], table[rows, high]
    return left + (place - low) * (right - left), known


def offsets(own: Floats, reference: Floats, policy: BandPolicy) -> Floats:
    """By cell: the distance from a reference that a run had kept until shortly before. NaN before
    start_cell and where there is none. Uses earlier cells only."""
    at, counts = _windows(policy, policy.window_cells, 0)
    return _quantiles(np.where(counts, (own - reference)[at], np.nan), 0.5)[0]


def _mean(table: Floats) -> Floats:
    """By cell: the mean over references, of those that are there."""
    known = np.isfinite(table)
    total = np.where(known, table, 0.0).sum(axis=0)
    count = known.sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _expected(own: Floats, references: Floats, policy: BandPolicy) -> tuple[Floats, Floats]:
    """(offset by reference and cell, where the loss is expected by cell)."""
    kept = np.array([offsets(own, reference, policy) for reference in references])
    return kept, _mean(references + kept)


def spread(references: Sequence[Floats], policy: BandPolicy | None = None) -> Floats:
    """By cell: how far a reference strays from what the others make of it, as the policy's
    quantile over all of them and the cells near by. NaN for fewer than two references."""
    policy = policy or BandPolicy()
    strays = []
    for i, one in enumerate(references if len(references) > 1 else []):
        others = np.array([ref for j, ref in enumerate(references) if j != i])
        strays.append(np.abs(one - _expected(one, others, policy)[1]))
    return _near(np.array(strays), policy)


def _near(strays: Floats, policy: BandPolicy) -> Floats:
    """The quantile of a table (reference, cell) around each cell; NaN for an empty one."""
    if not len(strays):
        return np.full(CELLS, np.nan)
    around = np.arange(-policy.near_cells, policy.near_cells + 1)
    at = np.arange(CELLS)[:, None] + around
    table = np.where((at >= 0) & (at < CELLS), strays[:, at.clip(0, CELLS - 1)], np.nan)
    return _quantiles(np.concatenate(table, axis=1), policy.quantile)[0]


def judge(
    own: Floats, references: Sequence[Floats], usual: Floats, policy: BandPolicy | None = None
) -> Band:
    """The band of a run and where it left it. own: NaN from the first cell on that is not over.

    usual: `spread` of the references. Causal: what is said of a cell depends on no later cell of
    the run. About 10 ms a reference.
    """
    policy, table = policy or BandPolicy(), np.array(references)
    kept, center = _expected(own, table, policy)
    width = _widths(own - center, usual, center, policy)
    left: list[Departure] = []
    frozen = center
    cell, done = policy.start_cell, cells_known(own)
    while cell < done:
        one = _next(own, center, width, (cell, policy))
        if one is None:
            break
        frozen = _mean(table + kept[:, one.onset, None])
        one = replace(one, end=_end(own, frozen, one, policy))
        left.append(one)
        cell = done if one.end is None else one.end + policy.persist_cells
        stretch = slice(one.onset, cell if one.end is None else one.end)
        center[stretch], width[stretch] = frozen[stretch], one.width
    ahead = _forecast(own, table, policy)
    center[done:], width[done:] = ahead.center[done:], ahead.width[done:]
    if left and left[-1].end is None:
        # The distance of a run that has left its band is none to go on with.
        center[done:] = frozen[done:]
    return Band(center, width, tuple(left))


def cells_known(own: Floats) -> int:
    """The cell after the newest one with a loss."""
    known = np.flatnonzero(np.isfinite(own))
    return int(known[-1]) + 1 if len(known) else 0


def _widths(strayed: Floats, usual: Floats, center: Floats, policy: BandPolicy) -> Floats:
    """By cell. Without a spread of references nothing is said before the run has shown its own."""
    factor = policy.factor if np.isfinite(usual).any() else policy.lone_factor
    at, counts = _windows(policy, policy.own_cells, policy.start_cell)
    past = np.where(counts, np.abs(strayed)[at], np.nan)
    own, known = _quantiles(past, policy.quantile)
    own = np.where(known >= policy.min_own_cells, own, np.nan)
    width = np.maximum(factor * np.fmax(own, usual), policy.floor * np.abs(center))
    return np.where(np.arange(CELLS) >= policy.start_cell, width, np.nan)


def _next(
    own: Floats, center: Floats, width: Floats, since: tuple[int, BandPolicy]
) -> Departure | None:
    """The first departure that lasts, from a cell on. since: (cell, policy)."""
    first, policy = since
    ratio = (own - center) / width
    for seen in range(first + policy.persist_cells - 1, cells_known(own)):
        rows = ratio[seen - policy.persist_cells + 1 : seen + 1]
        middle = _median(rows) if 2 * np.isfinite(rows).sum() >= policy.persist_cells else 0.0
        if middle > 1:
            onset = seen - policy.persist_cells + 1 + int(np.flatnonzero(rows > 1)[0])
            value, there, wide = (float(series[onset]) for series in (own, center, width))
            return Departure(onset, seen, value, there, wide)
    return None


def _end(own: Floats, frozen: Floats, one: Departure, policy: BandPolicy) -> int | None:
    """The cell by which the median is back within its width, or the new level the usual one."""
    away = own - frozen
    for cell in range(one.seen + 1, cells_known(own)):
        rows = away[cell - policy.persist_cells + 1 : cell + 1]
        if cell >= one.onset + policy.settle_cells or _median(rows) <= one.width:
            return cell
    return None


def newest_offsets(own: Floats, references: Floats, policy: BandPolicy) -> Floats:
    """By reference: the distance over the newest window_cells of the run."""
    done = cells_known(own)
    rows = slice(max(0, done - policy.window_cells), done)
    return np.array([_median((own - reference)[rows]) for reference in references])


def _forecast(own: Floats, references: Floats, policy: BandPolicy) -> Band:
    """Where the run goes if it keeps its distance, and how far its references strayed from theirs
    after the same part of the schedule. The width is NaN for fewer than two references."""
    done, strays = cells_known(own), []
    center = _mean(references + newest_offsets(own, references, policy)[:, None])
    for i, one in enumerate(references if len(references) > 1 else []):
        others, seen = np.delete(references, i, axis=0), one.copy()
        seen[done:] = np.nan
        kept = newest_offsets(seen, others, policy)
        strays.append(np.abs(one - _mean(others + kept[:, None])))
    width = policy.factor * _near(np.array(strays), policy)
    return Band(center, np.maximum(width, policy.floor * np.abs(center)), ())
