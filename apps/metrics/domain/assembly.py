"""Stored blocks -> the points of series."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apps.metrics.domain import blocks, tiers
from apps.metrics.domain.blocks import Axis, Bools, Floats
from apps.metrics.domain.tiers import Buckets
from apps.metrics.records import Points

SeriesId = tuple[int, int]
"""(key_id, attempt)."""


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """A hot or cold block as the database gave it.

    key_ids: its columns. axis_id: blocks with the same number share their axis. order: arrival.
    """

    attempt: int
    order: int
    axis_id: int
    key_ids: Sequence[int]
    axis: bytes
    cells: bytes


@dataclass(frozen=True, slots=True)
class StoredTier:
    """One chunk of buckets of one series."""

    key_id: int
    attempt: int
    level: int
    axis: bytes
    cells: bytes


@dataclass(frozen=True, slots=True)
class _Part:
    axis: Axis
    value: Floats


def points(
    stored: Iterable[StoredBlock],
    wanted: Iterable[int],
    steps: tuple[int | None, int | None] = (None, None),
) -> dict[SeriesId, Points]:
    """The points of the wanted keys within the steps (both included), per series.

    Sorted by step; points of one step in order of arrival. Series without a point are left out.
    Raises BlockError. Cost: one decode a block, one sort a series.
    """
    keys = frozenset(wanted)
    parts: dict[SeriesId, list[_Part]] = defaultdict(list)
    axes: dict[int, Axis] = {}
    for block in sorted(stored, key=lambda block: block.order):
        axis = axes.get(block.axis_id)
        if axis is None:
            axis = axes[block.axis_id] = blocks.decode_axis(block.axis)
        columns = [at for at, key_id in enumerate(block.key_ids) if key_id in keys]
        cells = blocks.decode_cells(block.cells, columns)
        inside = _inside(axis, steps)
        for at, column in enumerate(columns):
            value, present = cells.column(at)
            part = _part(axis, value, _both(present, inside))
            if len(part.axis):
                parts[block.key_ids[column], block.attempt].append(part)
    return {series: _joined(found) for series, found in parts.items()}


def buckets(stored: Iterable[StoredTier]) -> dict[SeriesId, Buckets]:
    """The buckets of all chunks, per series, by step. All of one level.

    Series that were logged together have equal axes: each is decoded once.
    """
    parts: dict[SeriesId, list[Buckets]] = defaultdict(list)
    axes: dict[bytes, Axis] = {}
    for chunk in stored:
        axis = axes.get(chunk.axis)
        if axis is None:
            axis = axes[chunk.axis] = blocks.decode_axis(chunk.axis)
        found = tiers.decode(axis, chunk.cells, chunk.level)
        parts[chunk.key_id, chunk.attempt].append(found)
    return {series: tiers.concat(found) for series, found in parts.items()}


def by_rank(found: Points) -> Mapping[int | None, Points]:
    """The points of each rank, {None: all} for a series of the job."""
    if found.rank is None:
        return {None: found}
    return {int(rank): _take(found, found.rank == rank) for rank in np.unique(found.rank)}


def _inside(axis: Axis, steps: tuple[int | None, int | None]) -> Bools | None:
    first, last = steps
    low = None if first is None or axis.step.min(initial=first) >= first else axis.step >= first
    high = None if last is None or axis.step.max(initial=last) <= last else axis.step <= last
    return _both(low, high)


def _both(a: Bools | None, b: Bools | None) -> Bools | None:
    if a is None or b is None:
        return a if b is None else b
    return a & b


def _part(axis: Axis, value: Floats, mask: Bools | None) -> _Part:
    return _Part(axis, value) if mask is None else _Part(axis.take(mask), value[mask])


def _joined(parts: list[_Part]) -> Points:
    rank = None
    if parts[0].axis.rank is not None:
        rank = np.concatenate([part.axis.rank for part in parts if part.axis.rank is not None])
    found = Points(
        np.concatenate([part.axis.step for part in parts]),
        np.concatenate([part.axis.time_ns for part in parts]),
        np.concatenate([part.value for part in parts]),
        rank,
    )
    return _take(found, np.argsort(found.step, kind="stable"))


def _take(found: Points, index: npt.NDArray[np.intp] | Bools) -> Points:
    rank = None if found.rank is None else found.rank[index]
    return Points(found.step[index], found.time_ns[index], found.value[index], rank)
