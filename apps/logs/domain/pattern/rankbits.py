"""Sets of ranks as the bits of one integer: bit r is rank r. A union of 16,384 ranks is one `|`."""

from __future__ import annotations

from collections.abc import Sequence

MAX_RANKS = 1 << 17
"""Ranks from here on are in no set: 16 KiB a set at most, whatever a sender claims."""

Spans = tuple[tuple[int, int], ...]


def bits_between(spans: Sequence[tuple[int, int]]) -> int:
    """The set of all ranks in these spans, ends included."""
    bits = 0
    for first, last in spans:
        low, high = max(first, 0), min(last, MAX_RANKS - 1)
        if low <= high:
            bits |= ((1 << (high - low + 1)) - 1) << low
    return bits


def pack(bits: int) -> bytes:
    """The set for a table: little endian, no zero bytes at the end."""
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def unpack(packed: bytes | memoryview) -> int:
    """The set that pack() wrote."""
    return int.from_bytes(packed, "little")


def spans_of(bits: int, most: int) -> tuple[Spans, bool]:
    """The set as inclusive spans, ascending, and whether all are there: at most `most` spans."""
    spans: list[tuple[int, int]] = []
    at = 0
    while bits and len(spans) < most:
        gap = (bits & -bits).bit_length() - 1
        bits >>= gap
        run = (~bits & (bits + 1)).bit_length() - 1
        spans.append((at + gap, at + gap + run - 1))
        at += gap + run
        bits >>= run
    return tuple(spans), not bits
