"""Points of many flushes -> cold blocks of about 1,000 points, with shared axes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from apps.metrics.domain import blocks
from apps.metrics.domain.assembly import SeriesId
from apps.metrics.domain.blocks import Axis, Cells, Stats
from apps.metrics.records import Points

BLOCK_POINTS = 1_024
RANKED_BLOCK_POINTS = 8_192


@dataclass(frozen=True, slots=True)
class ColdColumn:
    """One series in a group: its cells over the group's axis, and their figures."""

    key_id: int
    cells: bytes
    stats: Stats


@dataclass(frozen=True, slots=True)
class ColdGroup:
    """Series that were logged in the same rows: one axis, one column each."""

    rows: int
    first_step: int
    last_step: int
    axis: bytes
    columns: list[ColdColumn]


def groups(points: Mapping[SeriesId, Points]) -> list[ColdGroup]:
    """Cold blocks for series of one attempt, in order of steps.

    Points keep their order; points of one step are never split over two blocks, so that two
    blocks of one series never end at the same step. Sharing the axis saves about 3 bytes a point.
    """
    together: dict[bytes, list[int]] = defaultdict(list)
    by_key = {key_id: found for (key_id, _), found in points.items()}
    for key_id, found in by_key.items():
        together[_axis_bytes(found)].append(key_id)
    return [
        _group([(key_id, by_key[key_id]) for key_id in key_ids], piece)
        for key_ids in together.values()
        for piece in _pieces(by_key[key_ids[0]])
    ]


def _axis_bytes(found: Points) -> bytes:
    rank = b"" if found.rank is None else found.rank.tobytes()
    return found.step.tobytes() + found.time_ns.tobytes() + rank


def _pieces(found: Points) -> Iterator[slice]:
    size = BLOCK_POINTS if found.rank is None else RANKED_BLOCK_POINTS
    start, end = 0, len(found.step)
    while start < end:
        stop = min(start + size, end)
        if stop < end:
            # All of the step at the cut goes into this block.
            stop = int(np.searchsorted(found.step, found.step[stop - 1], side="right"))
        yield slice(start, stop)
        start = stop


def _group(series: list[tuple[int, Points]], piece: slice) -> ColdGroup:
    first = series[0][1]
    rank = None if first.rank is None else first.rank[piece]
    axis = Axis(first.step[piece], first.time_ns[piece], rank)
    columns = []
    for key_id, found in series:
        cells = blocks.encode_cells(Cells(found.value[piece].reshape(-1, 1)))
        columns.append(ColdColumn(key_id, cells, blocks.read_stats(cells)))
    return ColdGroup(
        rows=len(axis),
        first_step=int(axis.step[0]),
        last_step=int(axis.step[-1]),
        axis=blocks.encode_axis(axis),
        columns=columns,
    )
