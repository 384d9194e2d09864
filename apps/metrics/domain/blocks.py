"""Packed blocks: the bytes in which metric points lie in the database.

Two kinds, both with a version byte, a checksum and a header that answers most questions without
decoding. An axis block holds the row coordinates (step, time, rank). A cell block holds one or
more columns of values over those rows; the hot form has all keys of a flush (a matrix), the cold
form one series. A cell may be absent; what is present comes back bit for bit, NaN payloads and
signed zeros included.

    bytes 0-3   magic "LGax" or "LGce"
    4           version (1)
    5           flags: axis 1 = has ranks; cells 1 = has absent cells
    6-7         reserved, 0
    8-11        rows, u32          12-15  columns, u32
    16-19       crc32 of the whole block with these four bytes as 0
    20-         cells only: points, nan, +inf, -inf (u32 each), min, max of the finite ones (f64)
    then        one zstd frame
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import zstandard

from apps.core.errors import AppError

VERSION = 1
MAX_ROWS = 1 << 20
MAX_CELLS = 1 << 24
AXIS_MAGIC = b"LGax"
CELL_MAGIC = b"LGce"
RANKED = 1
SPARSE = 1
LEVEL = 3

_HEAD = struct.Struct("<4sBBHIII")
_STATS = struct.Struct("<IIIIdd")

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class BlockError(AppError):
    """Bytes that are no block of this version, or a block whose content does not fit its header."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Coordinates of n rows. step, time_ns: int64[n]; rank: int32[n], None for the job's values."""

    step: Ints
    time_ns: Ints
    rank: npt.NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.step)

    def take(self, index: npt.NDArray[np.intp] | Bools) -> Axis:
        """The chosen rows, in the order of the index."""
        rank = None if self.rank is None else self.rank[index]
        return Axis(self.step[index], self.time_ns[index], rank)


@dataclass(frozen=True, slots=True)
class Stats:
    """points: cells present. minimum, maximum: of the finite ones, NaN if there is none."""

    points: int
    nan: int
    posinf: int
    neginf: int
    minimum: float
    maximum: float

    @property
    def nonfinite(self) -> int:
        """Cells that are NaN or infinite."""
        return self.nan + self.posinf + self.neginf


@dataclass(frozen=True, slots=True)
class Cells:
    """values: float64[n, k]. present: bool[n, k], None if every cell is there.

    Absent cells read as NaN in `values`; only `present` tells them from a logged NaN.
    """

    values: Floats
    present: Bools | None = None

    def column(self, index: int) -> tuple[Floats, Bools | None]:
        """One column: values float64[n] and the mask of its present cells, None for all."""
        mask = None if self.present is None else self.present[:, index]
        return self.values[:, index], mask


def stats(values: Floats) -> Stats:
    """The header figures of some values (any shape). Pass present cells only."""
    mask = np.isfinite(values)
    if values.size and mask.all():
        return Stats(values.size, 0, 0, 0, float(values.min()), float(values.max()))
    finite = values[mask]
    return Stats(
        points=values.size,
        nan=int(np.isnan(values).sum()),
        posinf=int(np.isposinf(values).sum()),
        neginf=int(np.isneginf(values).sum()),
        minimum=float(finite.min()) if finite.size else float("nan"),
        maximum=float(finite.max()) if finite.size else float("nan"),
    )


def encode_axis(axis: Axis) -> bytes:
    """An axis block. Steps and times as differences of differences: a steady pace costs nothing."""
    parts = [_pack_ints(axis.step), _pack_ints(axis.time_ns)]
    flags = 0
    if axis.rank is not None:
        flags = RANKED
        parts.append(_pack_ints(axis.rank.astype(np.int64)))
    body = zstandard.ZstdCompressor(level=LEVEL).compress(b"".join(parts))
    return _head(AXIS_MAGIC, flags, len(axis), 0, b"", body) + body


def decode_axis(data: bytes) -> Axis:
    """The rows of an axis block. Raises BlockError."""
    flags, rows, _, body = _open(data, AXIS_MAGIC, 0)
    columns = 3 if flags & RANKED else 2
    size = rows * 8
    raw = np.frombuffer(_inflate(body, columns * size), dtype=np.uint8)
    if raw.size != columns * size:
        raise BlockError("the block is shorter than its header says")
    ints = [_unpack_ints(raw[i * size : (i + 1) * size], rows) for i in range(columns)]
    return Axis(ints[0], ints[1], ints[2].astype(np.int32) if columns == 3 else None)


def encode_cells(cells: Cells) -> bytes:
    """A cell block. A column whose values all survive float32 takes 4 bytes a cell before zstd.

    Inflated content: one byte a column (1 = float32), the presence bits if any cell is absent,
    then the present cells column after column, the float32 ones first, XORed with the cell before
    and byte-shuffled.
    """
    rows, columns = cells.values.shape
    present = None if cells.present is None or cells.present.all() else cells.present
    turned = np.ascontiguousarray(cells.values.T)
    mask = b"" if present is None else np.packbits(present.T).tobytes()
    single, same = _narrowed(turned, present)
    shape = _Shape(rows, same, _counts(present, rows, columns))
    flat = turned.reshape(-1) if present is None else turned[present.T]
    short = shape.cell_is_narrow()
    narrow = (single.reshape(-1) if present is None else single[present.T])[short]
    lanes = _shuffle(narrow.view(np.uint32)) + _shuffle(flat[~short].view(np.uint64))
    raw = same.astype(np.uint8).tobytes() + mask + lanes
    body = zstandard.ZstdCompressor(level=LEVEL).compress(raw)
    header = _STATS.pack(*_figures(stats(flat)))
    flags = 0 if present is None else SPARSE
    return _head(CELL_MAGIC, flags, rows, columns, header, body) + header + body


def read_stats(data: bytes) -> Stats:
    """The header figures of a cell block, nothing decoded. Raises BlockError."""
    _, rows, columns, rest = _open(data, CELL_MAGIC, _STATS.size)
    figures = Stats(*_STATS.unpack(rest[: _STATS.size]))
    if figures.points > rows * columns:
        raise BlockError(f"the block claims {figures.points} points in {rows} x {columns} cells")
    return figures


def decode_cells(data: bytes, wanted: Sequence[int] | None = None) -> Cells:
    """The values of a cell block, or of the wanted columns in that order.

    Raises BlockError. Costs one inflation of the block (about 1 GB/s), whatever is wanted.
    """
    flags, rows, columns, rest = _open(data, CELL_MAGIC, _STATS.size)
    points = read_stats(data).points
    mask_bytes = (rows * columns + 7) // 8 if flags & SPARSE else 0
    head = columns + mask_bytes
    raw = np.frombuffer(_inflate(rest[_STATS.size :], head + 8 * points), dtype=np.uint8)
    if raw.size < head:
        raise BlockError("the block is shorter than its header says")
    present = None
    if flags & SPARSE:
        bits = np.unpackbits(raw[columns:head], count=rows * columns)
        present = bits.reshape(columns, rows).T.astype(np.bool_)
    shape = _Shape(rows, raw[:columns] == 1, _counts(present, rows, columns))
    indexes = list(range(columns)) if wanted is None else list(wanted)
    if any(not 0 <= index < columns for index in indexes):
        raise BlockError(f"the block has {columns} columns; asked for {indexes}")
    return _columns(raw[head:], shape, present, indexes)


@dataclass(frozen=True, slots=True)
class _Shape:
    """narrow: bool[k], the float32 columns. counts: int[k], present cells of each column."""

    rows: int
    narrow: Bools
    counts: npt.NDArray[np.int64]

    def cell_is_narrow(self) -> Bools:
        return np.repeat(self.narrow, self.counts)

    def starts(self) -> npt.NDArray[np.int64]:
        """Where each column begins among the cells of its own width."""
        starts = np.zeros(len(self.counts), dtype=np.int64)
        for group in (self.narrow, ~self.narrow):
            starts[group] = np.cumsum(self.counts[group]) - self.counts[group]
        return starts


def _counts(present: Bools | None, rows: int, columns: int) -> npt.NDArray[np.int64]:
    if present is None:
        return np.full(columns, rows, dtype=np.int64)
    counts: npt.NDArray[np.int64] = np.sum(present, axis=0, dtype=np.int64)
    return counts


def _figures(figures: Stats) -> tuple[int, int, int, int, float, float]:
    return (
        figures.points,
        figures.nan,
        figures.posinf,
        figures.neginf,
        figures.minimum,
        figures.maximum,
    )


def _narrowed(turned: Floats, present: Bools | None) -> tuple[npt.NDArray[np.float32], Bools]:
    """The matrix as float32, and which of its rows (our columns) come back bit for bit."""
    with np.errstate(over="ignore", invalid="ignore"):
        single = turned.astype(np.float32)
        same = single.astype(np.float64).view(np.uint64) == turned.view(np.uint64)
    if present is not None:
        same |= ~present.T
    return single, same.all(axis=1)


def _columns(
    raw: npt.NDArray[np.uint8], shape: _Shape, present: Bools | None, indexes: list[int]
) -> Cells:
    narrow_cells = int(shape.counts[shape.narrow].sum())
    wide_cells = int(shape.counts[~shape.narrow].sum())
    if raw.size != 4 * narrow_cells + 8 * wide_cells:
        raise BlockError("the block is not as long as its header says")
    single = _unshuffle(raw[: 4 * narrow_cells], narrow_cells, np.dtype(np.uint32))
    double = _unshuffle(raw[4 * narrow_cells :], wide_cells, np.dtype(np.uint64))
    if len(indexes) > len(shape.counts) // 8:
        whole = _whole(single, double, shape, present)
        return Cells(whole[:, indexes], None if present is None else present[:, indexes])
    values = np.full((shape.rows, len(indexes)), np.nan)
    starts = shape.starts()
    for out, index in enumerate(indexes):
        cells = slice(int(starts[index]), int(starts[index] + shape.counts[index]))
        where = slice(None) if present is None else present[:, index]
        if shape.narrow[index]:
            values[where, out] = single[cells].view(np.float32)
        else:
            values[where, out] = double[cells].view(np.float64)
    return Cells(values, None if present is None else present[:, indexes])


def _whole(
    single: npt.NDArray[np.uint32],
    double: npt.NDArray[np.uint64],
    shape: _Shape,
    present: Bools | None,
) -> Floats:
    """All columns at once: far fewer calls than one after the other."""
    turned = np.full((len(shape.counts), shape.rows), np.nan)
    lanes = ((shape.narrow, single.view(np.float32)), (~shape.narrow, double.view(np.float64)))
    for chosen, bits in lanes:
        if present is None:
            turned[chosen] = bits.reshape(int(chosen.sum()), shape.rows)
        else:
            turned[present.T & chosen[:, None]] = bits
    return turned.T


def _shuffle(bits: npt.NDArray[Any]) -> bytes:
    """XOR with the cell before, then all first bytes, all second bytes, ...: zstd likes that."""
    mixed = bits.copy()
    mixed[1:] ^= bits[:-1]
    return mixed.view(np.uint8).reshape(bits.size, bits.itemsize).T.tobytes()


def _unshuffle(raw: npt.NDArray[np.uint8], count: int, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    lanes = np.ascontiguousarray(raw.reshape(kind.itemsize, count).T)
    return np.bitwise_xor.accumulate(lanes.reshape(-1).view(kind))


def _pack_ints(values: Ints) -> bytes:
    """Second differences modulo 2^64, byte-shuffled."""
    twice = values.astype(np.int64).view(np.uint64).copy()
    for _ in range(2):
        twice[1:] = twice[1:] - twice[:-1]
    return twice.view(np.uint8).reshape(len(values), 8).T.tobytes()


def _unpack_ints(raw: npt.NDArray[np.uint8], rows: int) -> Ints:
    twice = np.ascontiguousarray(raw.reshape(8, rows).T).reshape(-1).view(np.uint64)
    for _ in range(2):
        twice = np.add.accumulate(twice, dtype=np.uint64)
    return twice.view(np.int64)


def _head(magic: bytes, flags: int, rows: int, columns: int, header: bytes, body: bytes) -> bytes:
    if rows > MAX_ROWS or rows * columns > MAX_CELLS:
        raise BlockError(
            f"{rows} rows x {columns} columns do not fit one block",
            hint=f"at most {MAX_ROWS} rows and {MAX_CELLS} cells; split the batch",
        )
    blank = _HEAD.pack(magic, VERSION, flags, 0, rows, columns, 0)
    return blank[:-4] + zlib.crc32(blank + header + body).to_bytes(4, "little")


def _open(data: bytes, magic: bytes, needs: int) -> tuple[int, int, int, bytes]:
    """(flags, rows, columns, rest) of a block that is what it says it is."""
    if len(data) < _HEAD.size + needs:
        raise BlockError(f"{len(data)} bytes are too few for a block")
    found, version, flags, _, rows, columns, check = _HEAD.unpack_from(data)
    if found != magic:
        raise BlockError(f"not a {magic.decode()} block: it starts with {found!r}")
    if version != VERSION:
        raise BlockError(
            f"block version {version}, this program reads {VERSION}",
            hint="start the program version that wrote it",
        )
    rest = bytes(data[_HEAD.size :])
    if zlib.crc32(data[: _HEAD.size - 4] + b"\0\0\0\0" + rest) != check:
        raise BlockError("the block's checksum does not match", hint="the stored bytes are damaged")
    if rows > MAX_ROWS or rows * columns > MAX_CELLS:
        raise BlockError(f"the block claims {rows} rows x {columns} columns, above the limit")
    return flags, rows, columns, rest


def _inflate(body: bytes, limit: int) -> bytes:
    """At most `limit` bytes; the size a frame declares is checked before any memory is taken."""
    try:
        declared = zstandard.frame_content_size(body)
        if not 0 <= declared <= limit:
            raise BlockError(f"the block inflates to {declared} bytes, more than {limit}")
        return zstandard.ZstdDecompressor().decompress(body, max_output_size=max(limit, 1))
    except zstandard.ZstdError as error:
        raise BlockError(f"the block does not inflate: {error}") from error
