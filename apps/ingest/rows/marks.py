"""By which stored rows a file is recognised: a digest of every n-th one. Plain Python."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

MAX_MARKS = 512
DIGITS = 8


@dataclass(frozen=True, slots=True)
class Marks:
    """digests[i]: of row i * stride, "" where it did not come yet. At most MAX_MARKS of them."""

    stride: int = 1
    digests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows `first` to `end` of a file, without the last. content: what the row of a number says,
    however it is written."""

    first: int
    end: int
    content: Callable[[int], bytes]

    def marked(self, stride: int) -> range:
        """Those with a mark."""
        return range(-(-self.first // stride) * stride, self.end, stride)


def digest(content: bytes) -> str:
    """Tells two rows apart."""
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def same_until(marks: Marks, rows: Rows) -> int:
    """The number of the first of `rows` that is another one than was marked; rows.end if none is.

    Between two marks nobody knows: it is the first row behind the last equal mark then, and `rows`
    that end there count as equal. Of n rows that concerns n / 256 at most.
    """
    for number in rows.marked(marks.stride):
        at = number // marks.stride
        known = marks.digests[at] if at < len(marks.digests) else ""
        if known and known != digest(rows.content(number)):
            return max(rows.first, number - marks.stride + 1)
    return rows.end


def without(marks: Marks, end: int) -> Marks:
    """The marks of the rows before `end`."""
    return Marks(marks.stride, marks.digests[: -(-end // marks.stride)])


def noted(marks: Marks, rows: Rows) -> Marks:
    """The marks with those of `rows`. Beyond MAX_MARKS every second one is forgotten."""
    stride, kept = marks.stride, list(marks.digests)
    while (rows.end - 1) // stride >= MAX_MARKS:
        stride, kept = 2 * stride, kept[::2]
    for number in rows.marked(stride):
        at = number // stride
        kept += [""] * (at + 1 - len(kept))
        kept[at] = digest(rows.content(number))
    return Marks(stride, tuple(kept))
