"""Pre-aggregated buckets of 2^k steps: what a chart of a long run needs instead of every point.

Bucket edges are multiples of 2^k, whatever window is asked for, so that a refresh or a zoom never
moves them. Merging is deterministic: feeding points in any split gives the same buckets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apps.metrics.domain import blocks
from apps.metrics.domain.blocks import Axis, BlockError, Cells, Floats, Ints

LEVELS = (6, 10, 14)
CHUNK_BITS = 10


@dataclass(frozen=True, slots=True)
class Buckets:
    """m buckets of 2^level steps, by step, each with at least one point.

    step, time_ns: of its newest finite point (of its newest point if none is finite).
    minimum, maximum, last: of the finite points, NaN if there is none. count: finite points.
    Newest: highest step, at equal steps the one that arrived last.
    """

    level: int
    step: Ints
    time_ns: Ints
    minimum: Floats
    maximum: Floats
    last: Floats
    count: Ints
    nan: Ints
    posinf: Ints
    neginf: Ints

    def __len__(self) -> int:
        return len(self.step)

    def points(self) -> int:
        """Points in all buckets, non-finite ones included."""
        return int(sum(part.sum() for part in (self.count, self.nan, self.posinf, self.neginf)))

    def take(self, index: npt.NDArray[np.intp] | npt.NDArray[np.bool_] | slice) -> Buckets:
        """The chosen buckets."""
        return Buckets(
            self.level,
            self.step[index], self.time_ns[index], self.minimum[index], self.maximum[index],
            self.last[index], self.count[index], self.nan[index], self.posinf[index],
            self.neginf[index],
        )  # fmt: skip


def from_points(step: Ints, time_ns: Ints, value: Floats, level: int) -> Buckets:
    """Buckets of points in order of arrival (steps in any order). O(n log n)."""
    singles = Buckets(
        level=level,
        step=step,
        time_ns=time_ns,
        minimum=_finite(value),
        maximum=_finite(value),
        last=_finite(value),
        count=np.isfinite(value).astype(np.int64),
        nan=np.isnan(value).astype(np.int64),
        posinf=np.isposinf(value).astype(np.int64),
        neginf=np.isneginf(value).astype(np.int64),
    )
    return regroup(singles, level)


def merge(older: Buckets, newer: Buckets) -> Buckets:
    """Both together. At equal steps the newer one's `last` wins. Levels must be equal."""
    if older.level != newer.level:
        raise ValueError(f"cannot merge buckets of level {older.level} and {newer.level}")
    return regroup(concat([older, newer]), older.level)


def concat(parts: list[Buckets]) -> Buckets:
    """The buckets of all parts one after the other, not merged."""

    def joined(name: str) -> npt.NDArray[np.int64]:
        return np.concatenate([getattr(part, name) for part in parts])

    def joined_floats(name: str) -> Floats:
        return np.concatenate([getattr(part, name) for part in parts])

    return Buckets(
        parts[0].level,
        joined("step"), joined("time_ns"), joined_floats("minimum"), joined_floats("maximum"),
        joined_floats("last"), joined("count"), joined("nan"), joined("posinf"), joined("neginf"),
    )  # fmt: skip


def regroup(parts: Buckets, level: int) -> Buckets:
    """The same points in buckets of 2^level steps; level must not be below theirs."""
    if not len(parts):
        return Buckets(level, *(getattr(parts, name) for name in _COLUMNS))
    order = np.argsort(parts.step, kind="stable")
    parts = parts.take(order)
    bucket = parts.step >> level
    starts = np.flatnonzero(np.r_[True, bucket[1:] != bucket[:-1]])
    newest = _newest(parts, starts)
    return Buckets(
        level=level,
        step=parts.step[newest],
        time_ns=parts.time_ns[newest],
        minimum=np.fmin.reduceat(parts.minimum, starts),
        maximum=np.fmax.reduceat(parts.maximum, starts),
        last=parts.last[newest],
        count=np.add.reduceat(parts.count, starts),
        nan=np.add.reduceat(parts.nan, starts),
        posinf=np.add.reduceat(parts.posinf, starts),
        neginf=np.add.reduceat(parts.neginf, starts),
    )


def _newest(parts: Buckets, starts: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Index of the last part with a finite point in each group, else of its last part."""
    index = np.arange(len(parts))
    finite = np.maximum.reduceat(np.where(parts.count > 0, index, -1), starts)
    ends = np.r_[starts[1:], len(parts)] - 1
    return np.where(finite >= 0, finite, ends)


def _finite(value: Floats) -> Floats:
    return np.where(np.isfinite(value), value, np.nan)


_COLUMNS = (
    "step", "time_ns", "minimum", "maximum", "last", "count", "nan", "posinf", "neginf",
)  # fmt: skip
_VALUES = _COLUMNS[2:]


def chunk_of(step: int, level: int) -> int:
    """The stored chunk (of 1,024 buckets) a step belongs to."""
    return step >> (level + CHUNK_BITS)


def split(buckets: Buckets) -> dict[int, Buckets]:
    """chunk -> its buckets."""
    chunks = buckets.step >> (buckets.level + CHUNK_BITS)
    return {int(chunk): buckets.take(chunks == chunk) for chunk in np.unique(chunks)}


def encode(buckets: Buckets) -> tuple[bytes, bytes]:
    """(axis block, cell block) of a chunk. Counts above 2^53 would lose digits; none can exist."""
    axis = blocks.encode_axis(Axis(buckets.step, buckets.time_ns))
    columns = [np.asarray(getattr(buckets, name), dtype=np.float64) for name in _VALUES]
    return axis, blocks.encode_cells(Cells(np.stack(columns, axis=1)))


def decode(axis: bytes | Axis, cells: bytes, level: int) -> Buckets:
    """The chunk that `encode` gave; its axis may have been decoded before. Raises BlockError."""
    rows = axis if isinstance(axis, Axis) else blocks.decode_axis(axis)
    matrix = blocks.decode_cells(cells).values
    if matrix.shape != (len(rows), len(_VALUES)):
        raise BlockError(f"a tier chunk has the shape {matrix.shape}")
    counts = matrix[:, 3:]
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        raise BlockError("a tier chunk has a count that is no number")
    ints = [counts[:, at].astype(np.int64) for at in range(4)]
    return Buckets(level, rows.step, rows.time_ns, matrix[:, 0], matrix[:, 1], matrix[:, 2], *ints)
