"""Hours of nodes (domain/pulse.py) put on one axis of time buckets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.pulse import HOUR_NS, MINUTE_NS, MINUTES, SEVERITIES, PulseHour
from apps.logs.records import Pulse, RankMatrix

MAX_BUCKETS = 2_000


@dataclass(frozen=True, slots=True)
class NodeHour:
    """One block with its place. hour: since 1970. copies: whether console copies count as well."""

    node: str
    hour: int
    block: PulseHour
    copies: bool


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
        """Bucket of each of its minutes; -1 and `buckets` and beyond = outside. Ascending."""
        minutes = hour * MINUTES + np.arange(MINUTES, dtype=np.int64)
        return (minutes - self.first) // self.width


def axis_of(from_ns: int, to_ns: int, buckets: int) -> Axis:
    """At most `buckets` buckets that hold every minute from `from_ns` to `to_ns`."""
    first = from_ns // MINUTE_NS
    minutes = max(1, to_ns // MINUTE_NS - first + 1)
    width = -(-minutes // max(1, min(buckets, MAX_BUCKETS)))
    return Axis(first, width, -(-minutes // width))


def span_ns(hours: Iterable[NodeHour]) -> tuple[int, int] | None:
    """First and last nanosecond of the minutes that have a line; None if none has."""
    found: list[int] = []
    for hour in hours:
        minutes = np.nonzero(_counts(hour).any(axis=1))[0]
        if len(minutes):
            found += [hour.hour * MINUTES + int(minutes[at]) for at in (0, -1)]
    return (min(found) * MINUTE_NS, (max(found) + 1) * MINUTE_NS - 1) if found else None


def pulse_of(hours: Iterable[NodeHour], axis: Axis) -> Pulse:
    """Lines by bucket and severity, of all nodes and of each."""
    nodes: dict[str, NDArray[np.int64]] = {}
    for hour in hours:
        at = axis.of_hour(hour.hour)
        inside = (at >= 0) & (at < axis.buckets)
        if inside.any():
            empty = np.zeros((axis.buckets, len(SEVERITIES)), dtype=np.int64)
            np.add.at(nodes.setdefault(hour.node, empty), at[inside], _counts(hour)[inside])
    total = np.zeros((axis.buckets, len(SEVERITIES)), dtype=np.int64)
    for counts in nodes.values():
        total += counts
    return Pulse(axis.edges_ns, SEVERITIES, total, dict(sorted(nodes.items())))


def matrix_of(hours: Sequence[NodeHour], axis: Axis) -> RankMatrix:
    """Worst severity by rank and bucket."""
    ranks = np.unique(np.concatenate([np.zeros(0, np.int32), *(h.block.ranks for h in hours)]))
    worst = np.zeros((len(ranks), axis.buckets), dtype=np.uint8)
    in_order = sorted(hours, key=lambda hour: hour.hour)
    for number, group in groupby(in_order, key=lambda hour: hour.hour):
        at = axis.of_hour(number)
        inside = np.nonzero((at >= 0) & (at < axis.buckets))[0]
        if not len(inside):
            continue
        columns, starts = np.unique(at[inside], return_index=True)
        blocks = list(group)
        rows = np.searchsorted(ranks, np.concatenate([hour.block.ranks for hour in blocks]))
        seen = np.concatenate([_worst(hour) for hour in blocks])[:, inside]
        found = np.maximum.reduceat(seen, starts, axis=1)
        # A rank that moved during the hour has a block on each of its nodes.
        np.maximum.at(worst, (rows[:, None], columns[None, :]), found)
    return RankMatrix(axis.edges_ns, ranks.astype(np.int32), worst)


def step_span_ns(
    hours: Iterable[NodeHour], from_step: int | None, to_step: int | None
) -> tuple[int, int] | None:
    """First and last nanosecond of the minutes in which lines name steps of the span.

    From the first minute that names `from_step` or a later one to the last that names `to_step` or
    an earlier one; None if no minute does.
    """
    starts, ends = [], []
    for hour in hours:
        first, last = hour.block.steps
        named = last >= 0
        late = np.nonzero(named & (last >= (0 if from_step is None else from_step)))[0]
        early = np.nonzero(named & (first <= (2**63 - 2 if to_step is None else to_step)))[0]
        starts += [hour.hour * MINUTES + int(late[0])] if len(late) else []
        ends += [hour.hour * MINUTES + int(early[-1])] if len(early) else []
    if not starts or not ends or max(ends) < min(starts):
        return None
    return min(starts) * MINUTE_NS, (max(ends) + 1) * MINUTE_NS - 1


def hours_of(from_ns: int, to_ns: int) -> tuple[int, int]:
    """First and last hour since 1970 that holds a nanosecond of the span."""
    return from_ns // HOUR_NS, to_ns // HOUR_NS


def _counts(hour: NodeHour) -> NDArray[np.int64]:
    own, copied = hour.block.counts
    shown: NDArray[np.int64] = own + copied if hour.copies else own
    return shown


def _worst(hour: NodeHour) -> NDArray[np.uint8]:
    own, copied = hour.block.worst
    shown: NDArray[np.uint8] = np.maximum(own, copied) if hour.copies else own
    return shown
