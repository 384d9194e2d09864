"""The shapes of a chunk as they lie in it: one text behind the other, searched without cutting.

Plain Python and NumPy.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.query.sieve import caseless
from apps.logs.domain.reading.shapes import ZERO


@dataclass(frozen=True)
class PackedShapes:
    """Shape i = data[ends[i - 1] : ends[i]]; ends: int64[n]."""

    data: bytes
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, shapes: Sequence[bytes]) -> PackedShapes:
        """These shapes."""
        sizes = np.fromiter(map(len, shapes), dtype=np.int64, count=len(shapes))
        return cls(b"".join(shapes), np.cumsum(sizes))

    def __len__(self) -> int:
        return len(self.ends)

    def one(self, number: int) -> bytes:
        """One shape."""
        start = int(self.ends[number - 1]) if number else 0
        return self.data[start : int(self.ends[number])]

    @cached_property
    def listed(self) -> list[bytes]:
        """Each for itself; 0.3 microseconds a shape."""
        ends = self.ends.tolist()
        return [self.data[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Bytes of each shape."""
        return np.diff(self.ends, prepend=0)

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """Digits of each shape."""
        zero = np.frombuffer(self.data + b" ", dtype=np.uint8) == ZERO
        starts = self.ends - self.sizes
        # Of an empty shape reduceat gives the byte behind it.
        found = np.add.reduceat(zero, starts, dtype=np.int64) if len(starts) else starts
        return np.where(self.sizes > 0, found, 0)

    @cached_property
    def caseless(self) -> PackedShapes:
        """The same shapes in lower case (sieve.caseless)."""
        if self.data.isascii():
            return PackedShapes(caseless(self.data), self.ends)
        return PackedShapes.of([caseless(shape) for shape in self.listed])

    def holding(self, wanted: bytes) -> NDArray[np.bool_]:
        """Which shapes hold a text. One search over all; O(bytes + hits)."""
        holds = np.zeros(len(self), dtype=np.bool_)
        if not wanted:
            return ~holds
        ends: list[int] | None = None
        at = self.data.find(wanted)
        while at >= 0:
            ends = ends or self.ends.tolist()
            number = bisect_right(ends, at)
            inside = at + len(wanted) <= ends[number]
            holds[number] |= inside
            at = self.data.find(wanted, ends[number] if inside else at + 1)
        return holds
