"""Which bytes of a file are stored already: no line twice, none lost, whatever the batching."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

Span = tuple[int, int]
MAX_GAPS = 1_000
"""Kept per file; older ones are given up: what comes for them later is not taken."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Stored bytes of one file generation: [0, end) without the gaps (ascending, disjoint)."""

    end: int = 0
    gaps: tuple[Span, ...] = ()

    def missing(self) -> int:
        """What lies in the gaps."""
        return sum(end - start for start, end in self.gaps)

    def until(self, limit: int) -> Coverage:
        """What of it lies before `limit`, which is not beyond the end."""
        gaps = tuple((start, min(end, limit)) for start, end in self.gaps if start < limit)
        return Coverage(limit, gaps)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What of a segment is new. keep: line numbers; seq: their offsets (of their new part)."""

    keep: Sequence[int]
    seq: Sequence[int]
    coverage: Coverage
    opened: Span | None


def accept(coverage: Coverage, start: int, end: int, seqs: Sequence[int]) -> Accepted:
    """The new lines of the segment [start, end), whose lines begin at `seqs` (ascending).

    A segment behind the stored end opens a gap; one that reaches into a gap fills it. A line
    whose beginning is stored but whose end is not (its first part came as a partial line) is
    kept whole, under the offset of its first new byte. O(lines + gaps), and at most MAX_GAPS gaps.
    """
    if start == coverage.end and not coverage.gaps:
        return Accepted(range(len(seqs)), seqs, Coverage(max(end, start)), None)
    opened = (coverage.end, start) if start > coverage.end else None
    missing = [*coverage.gaps, *([opened] if opened else [])]
    stored_end = max(coverage.end, start)
    keep, new_seq = [], []
    ahead = bisect_right(missing, start, key=_end)
    for number, seq in enumerate(seqs):
        line_end = seqs[number + 1] if number + 1 < len(seqs) else end
        while ahead < len(missing) and missing[ahead][1] <= seq:
            ahead += 1
        first = max(seq, missing[ahead][0] if ahead < len(missing) else stored_end)
        if first < line_end:
            keep.append(number)
            new_seq.append(first)
    left = tuple(piece for gap in missing for piece in _without(gap, start, end))
    return Accepted(keep, new_seq, Coverage(max(stored_end, end), left[-MAX_GAPS:]), opened)


def _end(gap: Span) -> int:
    return gap[1]


def _without(gap: Span, start: int, end: int) -> list[Span]:
    pieces = [(gap[0], min(gap[1], start)), (max(gap[0], end), gap[1])]
    return [piece for piece in pieces if piece[0] < piece[1]]
