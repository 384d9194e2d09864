"""Lines by minute and severity, and the worst severity of each rank by minute, of one node.

An hour of a node is one block of NumPy columns that folds and merges by addition and maximum, so
that the order of batches does not matter. Console copies of rank files are counted apart: whether
they are shown is known only when the block is read.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from apps.core.errors import AppError
from apps.core.records import Severity

MINUTES = 60
MINUTE_NS = 60_000_000_000
HOUR_NS = MINUTES * MINUTE_NS
SEVERITIES = tuple(int(severity) for severity in Severity)
MAX_RANKS = 20_000
"""Ranks of one block. Further ones are counted in `left_out`; their lines still count."""
_VERSION = 1
_HEAD = struct.Struct("<BIII")
_COUNTS = (2, MINUTES, len(SEVERITIES))
_STEPS = (2, MINUTES)
_NO_FIRST, _NO_LAST = 2**63 - 1, -1
_CODES = np.zeros(256, dtype=np.int64)
_CODES[list(SEVERITIES)] = range(len(SEVERITIES))


class BadPulse(AppError):
    """Stored bytes that are no block of a known version."""


@dataclass(frozen=True, slots=True)
class PulseColumns:
    """Lines of one node as columns of equal length; rank and step -1 = none."""

    time_ns: NDArray[np.int64]
    severity: NDArray[np.int64]
    rank: NDArray[np.int64]
    step: NDArray[np.int64]
    copied: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PulseHour:
    """One hour of one node. First axis: 0 = its own lines, 1 = console copies of rank files.

    counts: int64[2, 60, severities], lines. ranks: int32[n], ascending. worst: uint8[2, n, 60], a
    Severity or 0 = silent. steps: int64[2, 60], smallest and largest step named in a minute
    (2**63 - 1 and -1 = none). left_out: ranks beyond MAX_RANKS, each time they came.
    """

    counts: NDArray[np.int64]
    ranks: NDArray[np.int32]
    worst: NDArray[np.uint8]
    steps: NDArray[np.int64]
    left_out: int = 0


def fold(columns: PulseColumns) -> dict[int, PulseHour]:
    """Hours since 1970 -> their block, of lines in any order."""
    hours = columns.time_ns // HOUR_NS
    first = hours[0] if len(hours) else 0
    if (hours == first).all():
        return {int(first): _fold_hour(columns)} if len(hours) else {}
    return {
        int(hour): _fold_hour(
            PulseColumns(
                columns.time_ns[here],
                columns.severity[here],
                columns.rank[here],
                columns.step[here],
                columns.copied[here],
            )
        )
        for hour in np.unique(hours)
        for here in (np.nonzero(hours == hour)[0],)
    }


def _fold_hour(columns: PulseColumns) -> PulseHour:
    minute = columns.time_ns // MINUTE_NS % MINUTES
    plane = columns.copied.astype(np.int64)
    cell = (plane * MINUTES + minute) * len(SEVERITIES) + _CODES[columns.severity]
    counts = np.bincount(cell, minlength=int(np.prod(_COUNTS))).reshape(_COUNTS)
    ranks, worst, left_out = _worst(columns, plane, minute)
    return PulseHour(counts, ranks, worst, _steps(columns, minute), left_out)


def _worst(
    columns: PulseColumns, plane: NDArray[np.int64], minute: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.uint8], int]:
    ranks = np.unique(columns.rank)
    ranks = ranks[ranks >= 0]
    left_out = max(0, len(ranks) - MAX_RANKS)
    ranks = ranks[:MAX_RANKS]
    worst = np.zeros((2, len(ranks), MINUTES), dtype=np.uint8)
    if len(ranks):
        at = np.minimum(np.searchsorted(ranks, columns.rank), len(ranks) - 1)
        known = ranks[at] == columns.rank
        cell = (plane * len(ranks) + at) * MINUTES + minute
        flat = worst.reshape(-1)
        for severity in np.unique(columns.severity):  # ascending: the worst stays
            flat[cell[known & (columns.severity == severity)]] = severity
    return ranks.astype(np.int32), worst, left_out


def _steps(columns: PulseColumns, minute: NDArray[np.int64]) -> NDArray[np.int64]:
    steps = np.empty(_STEPS, dtype=np.int64)
    steps[0], steps[1] = _NO_FIRST, _NO_LAST
    named = columns.step >= 0
    if named.any():
        np.minimum.at(steps[0], minute[named], columns.step[named])
        np.maximum.at(steps[1], minute[named], columns.step[named])
    return steps


def merge(one: PulseHour, other: PulseHour) -> PulseHour:
    """Both blocks of one hour as one."""
    ranks = np.union1d(one.ranks, other.ranks)
    left_out = one.left_out + other.left_out + max(0, len(ranks) - MAX_RANKS)
    ranks = ranks[:MAX_RANKS].astype(np.int32)
    worst = np.zeros((2, len(ranks), MINUTES), dtype=np.uint8)
    for block in (one, other):
        kept = np.isin(block.ranks, ranks)
        at = np.searchsorted(ranks, block.ranks[kept])
        worst[:, at] = np.maximum(worst[:, at], block.worst[:, kept])
    steps = np.stack(
        (np.minimum(one.steps[0], other.steps[0]), np.maximum(one.steps[1], other.steps[1]))
    )
    return PulseHour(one.counts + other.counts, ranks, worst, steps, left_out)


def pack(hour: PulseHour) -> bytes:
    """The block as bytes; a few hundred for eight ranks."""
    payload = b"".join(
        (
            hour.counts.astype("<u4").tobytes(),
            hour.steps.astype("<i8").tobytes(),
            hour.ranks.astype("<i4").tobytes(),
            hour.worst.tobytes(),
        )
    )
    head = _HEAD.pack(_VERSION, len(hour.ranks), min(hour.left_out, 2**32 - 1), len(payload))
    return head + zstandard.ZstdCompressor(level=1).compress(payload)


def unpack(body: bytes) -> PulseHour:
    """The block of pack(). Raises BadPulse."""
    (stack,) = unpack_all([body])
    return PulseHour(
        stack.counts[0].astype(np.int64),
        stack.ranks[0],
        stack.worst[0],
        stack.steps[0],
        _HEAD.unpack_from(body)[2],
    )


@dataclass(frozen=True, slots=True)
class PulseStack:
    """Blocks with equally many ranks, one after the other: PulseHour with one more axis in front.

    numbers: the places of the blocks in what was unpacked. counts: uint32.
    """

    numbers: NDArray[np.int64]
    counts: NDArray[np.uint32]
    ranks: NDArray[np.int32]
    worst: NDArray[np.uint8]
    steps: NDArray[np.int64]


def unpack_all(bodies: Sequence[bytes]) -> list[PulseStack]:
    """Many blocks at once: about 10 microseconds each. Raises BadPulse."""
    by_count: dict[int, list[int]] = {}
    payloads: list[bytes] = []
    zstd = zstandard.ZstdDecompressor()
    try:
        for number, body in enumerate(bodies):
            version, count, _, size = _HEAD.unpack_from(body)
            if version != _VERSION or count > MAX_RANKS or size != _size(count):
                raise ValueError(f"version {version}, {count} ranks, {size} bytes")
            payloads.append(zstd.decompress(body[_HEAD.size :], max_output_size=size))
            by_count.setdefault(count, []).append(number)
        return [_stack(count, numbers, payloads) for count, numbers in by_count.items()]
    except (ValueError, struct.error, zstandard.ZstdError) as error:
        raise BadPulse(
            f"a block of counts cannot be read: {error}", hint="the stored bytes are damaged"
        ) from error


@lru_cache(maxsize=256)
def _size(ranks: int) -> int:
    """Bytes of a block with so many ranks."""
    return sum(np.dtype(kind).itemsize * prod(shape) for kind, shape in _fields(ranks))


def _fields(ranks: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Type and shape of each field of a block, in order."""
    return (("<u4", _COUNTS), ("<i8", _STEPS), ("<i4", (ranks,)), ("u1", (2, ranks, MINUTES)))


def _stack(count: int, numbers: Sequence[int], payloads: Sequence[bytes]) -> PulseStack:
    joined = b"".join([payloads[number] for number in numbers])
    rows = np.frombuffer(joined, dtype=np.uint8).reshape(len(numbers), _size(count))
    columns: list[NDArray[Any]] = []
    at = 0
    for kind, shape in _fields(count):
        width = np.dtype(kind).itemsize * prod(shape)
        part = np.ascontiguousarray(rows[:, at : at + width]).view(kind)
        columns.append(part.reshape(len(numbers), *shape))
        at += width
    counts, steps, ranks, worst = columns
    return PulseStack(np.array(numbers, dtype=np.int64), counts, ranks, worst, steps)
