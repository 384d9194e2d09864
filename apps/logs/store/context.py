"""What a file says before and after one of its lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.db.models import QuerySet

from apps.core.sql import snapshot
from apps.logs.domain.chunks import NO_RANK, ChunkLines, decode_chunk
from apps.logs.domain.paging import Found, key_of
from apps.logs.models import Chunk
from apps.logs.records import LogEntry, LogPage
from apps.logs.store import chunkrows, payloads
from apps.logs.store.searching import entry_of

STEP = 4
MAX_OPENED = 64
"""Chunks opened on each side of the line at most."""


@dataclass(frozen=True, slots=True)
class LinePlace:
    """One line of one file. source: with `#1` behind it after a first rotation."""

    run_id: int
    attempt: int
    node: str
    source: str
    seq: int


@dataclass(slots=True)
class _Lines:
    """Lines of the file found so far, by seq."""

    place: LinePlace
    found: dict[int, tuple[ChunkLines, int]] = field(default_factory=dict)
    opened: int = 0

    def take(self, body: bytes) -> None:
        """The lines of the file in one chunk."""
        chunk = decode_chunk(body)
        here = np.array([o.source == self.place.source for o in chunk.origins], dtype=np.bool_)
        numbers = np.nonzero(here[chunk.origin])[0]
        self.found.update(
            (seq, (chunk, number))
            for seq, number in zip(chunk.seq[numbers].tolist(), numbers.tolist(), strict=True)
        )
        self.opened += 1

    def beside(self, *, later: bool) -> int:
        """How many lines behind (before) the line are found."""
        return sum(seq > self.place.seq if later else seq < self.place.seq for seq in self.found)


@snapshot()  # chunks may be merged between two steps
def context_of(place: LinePlace, time_ns: int, before: int, after: int) -> LogPage:
    """A line and its neighbours, ordered by their place in the file; empty if it is not there.

    Cost: about 1 ms for each chunk of the node near the line.
    """
    lines = _Lines(place)
    rows = Chunk.objects.filter(run_id=place.run_id, attempt=place.attempt, node=place.node)
    here = rows.filter(first_ns__lte=time_ns, last_ns__gte=time_ns).order_by("chunk_id")
    for body in _with_bodies(list(here)):
        lines.take(body)
    if place.seq not in lines.found:
        return LogPage((), None, lines.opened, lines.opened)
    rows = _of_its_process(rows, lines)
    earlier = rows.filter(last_ns__lt=time_ns).order_by("-last_ns", "-chunk_id")
    later = rows.filter(first_ns__gt=time_ns).order_by("first_ns", "chunk_id")
    _widen(lines, _steps(earlier), before, later=False)
    _widen(lines, _steps(later), after, later=True)
    seqs = sorted(lines.found)
    at = seqs.index(place.seq)
    tag = (place.attempt, place.node)
    chosen = [lines.found[seq] for seq in seqs[max(0, at - before) : at + after + 1]]
    entries = [entry_of(Found(key_of(chunk, n, tag), chunk, n, tag)) for chunk, n in chosen]
    return LogPage(tuple(entries), None, lines.opened, lines.opened)


@snapshot()
def line_of(place: LinePlace, time_ns: int) -> tuple[LogEntry, bytes] | None:
    """One line, and the bytes it was in its file; None if it is not there."""
    lines = _Lines(place)
    rows = Chunk.objects.filter(run_id=place.run_id, attempt=place.attempt, node=place.node)
    for body in _with_bodies(list(rows.filter(first_ns__lte=time_ns, last_ns__gte=time_ns))):
        lines.take(body)
    if place.seq not in lines.found:
        return None
    chunk, number = lines.found[place.seq]
    tag = (place.attempt, place.node)
    return entry_of(Found(key_of(chunk, number, tag), chunk, number, tag)), chunk.original(number)


def _of_its_process(rows: QuerySet[Chunk], lines: _Lines) -> QuerySet[Chunk]:
    """Without the chunks of other processes, where the line is in a file of one process."""
    chunk, number = lines.found[lines.place.seq]
    line = chunk.line(number)
    if line.local_rank is None or line.rank is None:
        return rows
    return rows.filter(ranks__overlap=[line.rank, NO_RANK])


def _with_bodies(rows: Sequence[Chunk]) -> list[bytes]:
    places = [chunkrows.place_of(row) for row in rows]
    return payloads.get(rows[0].run_id, places) if rows else []


def _steps(rows: QuerySet[Chunk]) -> Iterator[bytes]:
    for at in range(0, MAX_OPENED, STEP):
        step = list(rows[at : at + STEP])
        yield from _with_bodies(step)
        if len(step) < STEP:
            return


def _widen(lines: _Lines, bodies: Iterator[bytes], wanted: int, *, later: bool) -> None:
    while lines.beside(later=later) < wanted and (body := next(bodies, None)) is not None:
        lines.take(body)
