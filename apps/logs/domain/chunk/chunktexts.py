"""The texts of a chunk, as shapes and digits or as they are, read line by line or searched whole.

Of a shape with many lines the digits stand column by column: the first digit of every line, then
the second of every line. Neighbours are alike then, which halves what zstd leaves.
Plain Python and NumPy.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.chunk.intcolumns import pack_ints, unpack_ints
from apps.logs.domain.chunk.packedshapes import PackedShapes
from apps.logs.domain.reading.shapes import ZERO, all_filled, apart, shaped

_U32 = struct.Struct("<I")
TURNED_LINES = 8
"""Shapes with fewer lines keep their digits line by line."""
RARE_LINES = 64
"""A shape with more lines is not rare."""
RARE_DIGITS = 128 << 10
"""So many digits are unpacked where those of rare shapes are asked for: a block of zstd."""
FEW = 64
"""So many candidates are looked at one by one."""


class Texts(Protocol):
    """Texts of n lines."""

    def __len__(self) -> int:
        """n"""

    def raw(self, number: int) -> bytes:
        """UTF-8 bytes of one text."""

    def several(self, numbers: Sequence[int]) -> list[bytes]:
        """The same of many texts."""

    def containing(self, needle: bytes) -> NDArray[np.bool_]:
        """Which texts contain `needle`; bool[n]."""

    def apart(self) -> tuple[NDArray[np.int32], list[bytes], bytes]:
        """As in shapes.apart()."""

    @property
    def start(self) -> NDArray[np.int64]:
        """Where each text begins in `whole`; n + 1 places."""

    @property
    def whole(self) -> bytes:
        """All texts without separators."""


@dataclass(frozen=True)
class PlainTexts:
    """Texts as they are. Text i = whole[start[i] : start[i + 1]]."""

    start: NDArray[np.int64]
    whole: bytes

    def __len__(self) -> int:
        return len(self.start) - 1

    def raw(self, number: int) -> bytes:
        """UTF-8 bytes of one text."""
        return self.whole[int(self.start[number]) : int(self.start[number + 1])]

    def several(self, numbers: Sequence[int]) -> list[bytes]:
        """The same of many texts."""
        return [self.raw(number) for number in numbers]

    def apart(self) -> tuple[NDArray[np.int32], list[bytes], bytes]:
        """As in shapes.apart()."""
        return apart([self.raw(number) for number in range(len(self.start) - 1)])

    def containing(self, needle: bytes) -> NDArray[np.bool_]:
        """One search over all texts. O(bytes + hits)."""
        hit = np.zeros(len(self.start) - 1, dtype=np.bool_)
        at = self.whole.find(needle)
        while at >= 0:
            number = int(np.searchsorted(self.start, at, side="right")) - 1
            end = int(self.start[number + 1])
            hit[number] = hit[number] or at + len(needle) <= end
            at = self.whole.find(needle, at + 1 if not hit[number] else end)
        return hit


@dataclass(frozen=True)
class ShapedTexts:
    """Texts as shapes and digits. shape: int32[n], index into shapes. open_digits: gives the first
    of the digits of all lines, which stand by shape: at least as many as it is asked for.

    A needle is looked for in the shapes first, which are a twentieth of the texts.
    """

    shape: NDArray[np.int32]
    packed: PackedShapes
    open_digits: Callable[[int], bytes]

    def __len__(self) -> int:
        return len(self.shape)

    @property
    def shapes(self) -> list[bytes]:
        """The shapes one by one."""
        return self.packed.listed

    @cached_property
    def digits(self) -> bytes:
        """All digits, unpacked when the first text is asked for."""
        return self.open_digits(int(self.begin[-1]))

    def block_of(self, shape: int) -> bytes:
        """The digits of all lines of a shape. Those of rare shapes come first in a chunk: for them
        only the first of the digits are unpacked."""
        begin, end = int(self.begin[shape]), int(self.begin[shape + 1])
        return (self._first if end <= RARE_DIGITS else self.digits)[begin:end]

    @cached_property
    def _first(self) -> bytes:
        return self.open_digits(min(RARE_DIGITS, int(self.begin[-1])))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Numbers of the lines, those of a shape together and ascending."""
        return by_shape(self.shape)

    @cached_property
    def lines_of(self) -> NDArray[np.int64]:
        """How many lines each shape has."""
        return np.bincount(self.shape, minlength=len(self.packed))

    @property
    def width(self) -> NDArray[np.int64]:
        """How many digits a line of each shape has."""
        return self.packed.widths

    @cached_property
    def begin(self) -> NDArray[np.int64]:
        """Where the digits of each shape begin."""
        return np.concatenate(([0], np.cumsum(self.lines_of * self.width)))

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """Which line of its shape each line is."""
        order = self.order
        first = np.concatenate(([0], np.cumsum(self.lines_of)))[:-1]
        rows = np.empty(len(order), dtype=np.int64)
        rows[order] = np.arange(len(order)) - first[self.shape[order]]
        return rows

    def raw(self, number: int) -> bytes:
        """UTF-8 bytes of one text. About 10 microseconds."""
        return self.several([number])[0]

    def several(self, numbers: Sequence[int]) -> list[bytes]:
        """The same of many texts. About 3 microseconds each."""
        shape, row = self.shape[numbers], self.row[numbers]
        begin, lines, width = self.begin[shape], self.lines_of[shape], self.width[shape]
        turned = lines >= TURNED_LINES
        places = (
            begin + np.where(turned, row, row * width),
            begin + np.where(turned, lines, row + 1) * width,
            np.where(turned, lines, 1),
        )
        digits = [
            self.digits[a:b:by] for a, b, by in zip(*(p.tolist() for p in places), strict=True)
        ]
        shapes = [self.packed.one(kind) for kind in shape.tolist()]
        return all_filled(shapes, b"".join(digits))

    def containing(self, needle: bytes) -> NDArray[np.bool_]:
        """Which texts contain `needle`: shapes first, then the lines of those that may."""
        hit = self.packed.holding(shaped(needle))[self.shape]
        if shaped(needle) == needle and b"0" not in needle:
            return hit
        numbers = np.flatnonzero(hit)
        if len(numbers) > FEW:
            return hit & PlainTexts(self.start, self.whole).containing(needle)
        hit[numbers] = [needle in text for text in self.several(numbers.tolist())]
        return hit

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """Where each text begins in `whole`; n + 1 places."""
        return np.concatenate(([0], np.cumsum(self.packed.sizes[self.shape])))

    @cached_property
    def whole(self) -> bytes:
        """All texts without separators. About 0.5 microseconds a line."""
        blank = bytearray(b"".join(map(self.shapes.__getitem__, self.shape.tolist())))
        out = np.frombuffer(blank, dtype=np.uint8)
        out[out == ZERO] = np.frombuffer(self._in_order(), dtype=np.uint8)
        return out.tobytes()

    def apart(self) -> tuple[NDArray[np.int32], list[bytes], bytes]:
        """As in shapes.apart()."""
        return self.shape, list(self.shapes), self._in_order()

    def _in_order(self) -> bytes:
        """The digits line by line."""
        rows: list[bytes] = []
        for begin, lines, width in zip(
            self.begin.tolist(), self.lines_of.tolist(), self.width.tolist(), strict=False
        ):
            block = self.digits[begin : begin + lines * width]
            if lines >= TURNED_LINES:
                block = _turned(block, width, lines)
            rows += [block[at : at + width] for at in range(0, lines * width, width or 1)]
            rows += [b""] * (0 if width else lines)
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(places))
        return b"".join(map(rows.__getitem__, places.tolist()))


def _turned(block: bytes, rows: int, columns: int) -> bytes:
    return np.frombuffer(block, dtype=np.uint8).reshape(rows, columns).T.tobytes()


def by_shape(shape: NDArray[np.int32]) -> NDArray[np.intp]:
    """Line numbers in order of their shapes. Few shapes are sorted by radix, five times as fast."""
    few = shape.max(initial=0) < 1 << 16
    return np.argsort(shape.astype(np.uint16) if few else shape, kind="stable")


def shape_order(shapes: Sequence[bytes], lines: Sequence[int]) -> list[int]:
    """Rare shapes first (block_of); those that differ in the length of their numbers only stand
    together. lines: how many each has."""
    bare = [shape.translate(None, b"0") for shape in shapes]
    rare = [number <= RARE_LINES for number in lines]
    return sorted(range(len(shapes)), key=lambda at: (not rare[at], bare[at]))


def pack_digits(
    shape: NDArray[np.int32], counts: Sequence[int], digits: bytes, at: NDArray[np.int64]
) -> bytes:
    """The digits of all lines by shape. counts: digits of each shape. at: where those of each line
    begin in `digits`; n + 1 places."""
    order = by_shape(shape)
    starts = at[order].tolist()
    lines = np.bincount(shape, minlength=len(counts)).tolist()
    pieces, first = [], 0
    for width, number in zip(counts, lines, strict=True):
        here = starts[first : first + number]
        first += number
        block = b"".join([digits[start : start + width] for start in here])
        pieces.append(_turned(block, number, width) if number >= TURNED_LINES else block)
    return b"".join(pieces)


def pack_shapes(shapes: Sequence[bytes]) -> bytes:
    """The shapes as bytes."""
    sizes = pack_ints(np.fromiter(map(len, shapes), dtype=np.int64, count=len(shapes)))
    return b"".join((_U32.pack(len(shapes)), sizes, *shapes))


def unpack_shapes(data: bytes) -> PackedShapes:
    """What pack_shapes() gave. ValueError if it does not fit."""
    (count,) = _U32.unpack_from(data)
    sizes, pos = unpack_ints(data, _U32.size, count)
    if count and (sizes.min() < 0 or int(sizes.sum()) != len(data) - pos):
        raise ValueError("shapes that do not fill their section")
    return PackedShapes(data[pos:], np.cumsum(sizes))
