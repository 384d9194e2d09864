"""The lines of a segment with their places; a huge line comes in pieces that say so.

Nothing is cut away: the bytes between two places are those of the line or piece that begins at
the first. Plain Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from apps.logs.domain.reading.carry import OpenLine

MAX_LINE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class RawLines:
    """raws: bytes of each line or piece, without its end. places: offset of each. number: of
    each piece that is not the first of its line (from 2), by index. huge: lines in pieces."""

    raws: list[bytes]
    places: list[int]
    number: dict[int, int]
    huge: int


def raw_lines(data: bytes, offset: int, line: OpenLine | None) -> RawLines:
    """The lines of `data`, which begins at `offset`. line: the one that it goes on with, if any."""
    raws = data.split(b"\n")
    if not raws[-1]:
        raws.pop()
    number = {0: line.piece + 1} if line is not None and raws else {}
    if max(map(len, raws), default=0) <= MAX_LINE_BYTES:
        places = list(accumulate((len(raw) + 1 for raw in raws), initial=offset))[:-1]
        return RawLines(raws, places, number, 0)
    return _with_pieces(raws, offset, number.get(0, 1))


def _with_pieces(raws: list[bytes], offset: int, first: int) -> RawLines:
    found = RawLines([], [], {}, sum(_is_huge(raw) for raw in raws))
    at = offset
    for index, raw in enumerate(raws):
        number = first if index == 0 else 1
        for piece in _pieces(raw) if _is_huge(raw) else [raw]:
            if number > 1:
                found.number[len(found.raws)] = number
            found.raws.append(piece)
            found.places.append(at)
            at += len(piece)
            number += 1
        at += 1
    return found


def _is_huge(raw: bytes) -> bool:
    """A line of frames (carriage returns) is as long as its last one: that is all of its text."""
    return (
        len(raw) > MAX_LINE_BYTES and len(raw.rstrip(b"\r").rpartition(b"\r")[2]) > MAX_LINE_BYTES
    )


def _pieces(raw: bytes) -> list[bytes]:
    """Parts of at most MAX_LINE_BYTES that end between two characters of UTF-8."""
    pieces, start = [], 0
    while len(raw) - start > MAX_LINE_BYTES:
        end = start + MAX_LINE_BYTES
        for back in range(4):
            if raw[end - back] & 0xC0 != 0x80:
                end -= back
                break
        pieces.append(raw[start:end])
        start = end
    return [*pieces, raw[start:]]


def mark(number: int) -> str:
    """What stands before the text of a piece that is not the first of its line."""
    return f"[piece {number} of a line] "
