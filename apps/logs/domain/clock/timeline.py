"""Hours of nodes (pulse.py) put on one axis of time buckets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.clock.pulse import HOUR_NS, MINUTE_NS, MINUTES, SEVERITIES, PulseStack
from apps.logs.records import Pulse, RankMatrix

MAX_BUCKETS = 2_000
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NodeHours:
    """Blocks with their places, one after the other. hour: since 1970. copies: whether console
    copies count as well."""

    node: Sequence[str]
    hour: NDArray[np.int64]
    copies: NDArray[np.bool_]
    blocks: PulseStack

    def counts(self, rows: Rows) -> NDArray[np.int64]:
        """Lines that are shown; int64[rows, 60, severities]."""
        planes = self.blocks.counts[rows].astype(np.int64)
        shown: NDArray[np.int64] = planes[:, 0] + planes[:, 1] * self.copies[rows, None, None]
        return shown

    def worst(self, rows: Rows) -> NDArray[np.uint8]:
        """Worst severity that is shown; uint8[rows, ranks, 60]."""
        planes = self.blocks.worst[rows]
        shown: NDArray[np.uint8] = np.maximum(
            planes[:, 0], planes[:, 1] * self.copies[rows, None, None]
        )
        return shown


@dataclass(frozen=True, slots=True)
class Axis:
    """Buckets of whole minutes. first: minute since 1970; width: minutes of a bucket."""

    first: int
    width: int
    buckets: int

    @property
    def edges_ns(self) -> NDArray[np.int64]:
        """Where buckets begin, and where the last one ends; int64[buckets + 1]."""
        minutes = self.first + self.width * np.arange(self.buckets + 1, dtype=np.int64)
        return minutes * MINUTE_NS

    def of_hour(self, hour: int) -> NDArray[np.int64]:
        """Bucket of each of its minutes; -1 and less, `buckets` and more = outside. Ascending."""
        minutes = hour * MINUTES + np.arange(MINUTES, dtype=np.int64)
        return (minutes - self.first) // self.width


def axis_of(from_ns: int, to_ns: int, buckets: int) -> Axis:
    """At most `buckets` buckets that hold every minute from `from_ns` to `to_ns`."""
    first = from_ns // MINUTE_NS
    minutes = max(1, to_ns // MINUTE_NS - first + 1)
    width = -(-minutes // max(1, min(buckets, MAX_BUCKETS)))
    return Axis(first, width, -(-minutes // width))


def hours_of(from_ns: int, to_ns: int) -> tuple[int, int]:
    """First and last hour since 1970 that holds a nanosecond of the span."""
    return from_ns // HOUR_NS, to_ns // HOUR_NS


def span_ns(hours: Iterable[NodeHours]) -> tuple[int, int] | None:
    """First and last nanosecond of the minutes that have a line; None if none has."""
    found: list[int] = []
    for part in hours:
        busy = part.counts(np.arange(len(part.hour))).any(axis=2)
        minutes = _minutes(part)[busy]
        found += [int(minutes.min()), int(minutes.max())] if len(minutes) else []
    return (min(found) * MINUTE_NS, (max(found) + 1) * MINUTE_NS - 1) if found else None


def step_span_ns(
    hours: Iterable[NodeHours], from_step: int | None, to_step: int | None
) -> tuple[int, int] | None:
    """First and last nanosecond of the minutes in which lines name steps of the span.

    From the first minute that names `from_step` or a later one to the last that names `to_step` or
    an earlier one; None if no minute does.
    """
    least, most = from_step or 0, 2**63 - 2 if to_step is None else to_step
    starts: list[int] = []
    ends: list[int] = []
    for part in hours:
        first, last = part.blocks.steps[:, 0], part.blocks.steps[:, 1]
        late, early = (last >= 0) & (last >= least), (last >= 0) & (first <= most)
        minutes = _minutes(part)
        starts += [int(minutes[late].min())] if late.any() else []
        ends += [int(minutes[early].max())] if early.any() else []
    if not starts or not ends or max(ends) < min(starts):
        return None
    return min(starts) * MINUTE_NS, (max(ends) + 1) * MINUTE_NS - 1


def pulse_of(hours: Iterable[NodeHours], axis: Axis) -> Pulse:
    """Lines by bucket and severity, of all nodes and of each."""
    nodes: dict[str, NDArray[np.int64]] = {}
    for part, rows, columns, starts, inside in _on_axis(hours, axis):
        counts = np.add.reduceat(part.counts(rows)[:, inside], starts, axis=1)
        for row, found in zip(rows.tolist(), counts, strict=True):
            node = part.node[row]
            if node not in nodes:
                nodes[node] = np.zeros((axis.buckets, len(SEVERITIES)), dtype=np.int64)
            nodes[node][columns] += found
    total = np.zeros((axis.buckets, len(SEVERITIES)), dtype=np.int64)
    for counts in nodes.values():
        total += counts
    return Pulse(axis.edges_ns, SEVERITIES, total, dict(sorted(nodes.items())))


def matrix_of(hours: Iterable[NodeHours], axis: Axis) -> RankMatrix:
    """Worst severity by rank and bucket."""
    parts = []
    for part, rows, columns, starts, inside in _on_axis(hours, axis):
        worst = part.worst(rows)[:, :, inside]
        found = np.maximum.reduceat(worst, starts, axis=2).reshape(-1, len(starts))
        parts.append((part.blocks.ranks[rows].reshape(-1), columns, found))
    named = [named for named, _, _ in parts]
    ranks = np.unique(np.concatenate([np.zeros(0, dtype=np.int32), *named]))
    matrix = np.zeros((len(ranks), axis.buckets), dtype=np.uint8)
    for named_here, columns, found in parts:
        rows = np.searchsorted(ranks, named_here)
        # A rank that moved during the hour has a block on each of its nodes.
        np.maximum.at(matrix, (rows[:, None], columns[None, :]), found)
    seen = matrix.any(axis=1)
    return RankMatrix(axis.edges_ns, ranks[seen].astype(np.int32), matrix[seen])


def _on_axis(
    hours: Iterable[NodeHours], axis: Axis
) -> Iterator[tuple[NodeHours, Rows, Rows, Rows, Rows]]:
    """Blocks of one hour at a time: their rows, their buckets, where in the minutes that are
    inside each bucket begins, and these minutes."""
    for part in hours:
        for hour in np.unique(part.hour).tolist():
            at = axis.of_hour(hour)
            inside = np.flatnonzero((at >= 0) & (at < axis.buckets))
            if len(inside):
                columns, starts = np.unique(at[inside], return_index=True)
                yield part, np.flatnonzero(part.hour == hour), columns, starts, inside


def _minutes(part: NodeHours) -> NDArray[np.int64]:
    """Minutes since 1970 of all blocks; int64[blocks, 60]."""
    return part.hour[:, None] * MINUTES + np.arange(MINUTES, dtype=np.int64)
