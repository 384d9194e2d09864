"""What a file says before and after one of its lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from apps.core.sql import snapshot
from apps.logs.domain.chunk.chunks import NO_RANK, ChunkLines
from apps.logs.domain.query.cursor import LineKey
from apps.logs.domain.query.entries import entries_of
from apps.logs.domain.query.paging import Found, file_of
from apps.logs.records import LogEntry, LogPage
from apps.logs.store import chunkquery
from apps.logs.store.chunkquery import ChunkRow, Step, Where

STEP = 4
MAX_OPENED = 64
"""Chunks opened on each side of the line at most."""


@dataclass(slots=True)
class _Lines:
    """Lines of the file of a line, found so far, by seq."""

    run_id: int
    key: LineKey
    source: str
    tag: tuple[int, str]
    found: dict[int, tuple[ChunkLines, int]] = field(default_factory=dict)
    opened: int = 0

    def take(self, rows: Sequence[ChunkRow]) -> None:
        """The lines of the file in these chunks."""
        opened = chunkquery.opened(self.run_id, rows)
        for row in (row for row in rows if row.chunk_id in opened):
            chunk = opened[row.chunk_id].columns
            chunkquery.used(self.run_id, row, opened[row.chunk_id])
            here = np.array([o.source == self.source for o in chunk.origins], dtype=np.bool_)
            numbers = np.flatnonzero(here[chunk.origin])
            self.found.update(
                (seq, (chunk, number))
                for seq, number in zip(chunk.seq[numbers].tolist(), numbers.tolist(), strict=True)
            )
            self.opened += 1

    def beside(self, *, later: bool) -> int:
        """How many lines behind (before) the line are found."""
        seq = self.key[2]
        return sum(one > seq if later else one < seq for one in self.found)


@snapshot()  # chunks may be merged between two steps
def context_of(run_id: int, key: LineKey, before: int, after: int) -> LogPage:
    """A line and its neighbours, ordered by their place in the file; empty if it is not there.

    Raises ValueError if the key is no line's. Cost: about 3 ms for each chunk of the node near the
    line. -- uses ix_chunk_node
    """
    lines, where = _found(run_id, key)
    if key[2] not in lines.found:
        return LogPage((), None, lines.opened, lines.opened)
    where, time_ns = _of_its_file(where, lines), key[0]
    earlier = _rows(where.also("last_ns < %s", time_ns), newest_first=True)
    later = _rows(where.also("first_ns > %s", time_ns), newest_first=False)
    _widen(lines, earlier, before, later=False)
    _widen(lines, later, after, later=True)
    return _page(lines, before, after)


@snapshot()
def line_of(run_id: int, key: LineKey) -> tuple[LogEntry, bytes] | None:
    """One line, and the bytes it was in its file; None if it is not there.

    Raises ValueError if the key is no line's. -- uses ix_chunk_node
    """
    lines, _ = _found(run_id, key)
    if key[2] not in lines.found:
        return None
    chunk, number = lines.found[key[2]]
    return entries_of([Found(key, chunk, number, lines.tag)])[0], chunk.original(number)


def _found(run_id: int, key: LineKey) -> tuple[_Lines, Where]:
    """The chunks that hold the line, opened, and which ones its rank has on its node."""
    source, attempt, node = file_of(key[3])
    lines = _Lines(run_id, key, source, (attempt, node))
    where = Where(
        ["run_id = %s", "attempt = %s", "node = %s", "ranks && %s::int4[]"],
        [run_id, attempt, node, [key[1]]],
    )
    here = where.also("first_ns <= %s AND last_ns >= %s", key[0], key[0])
    lines.take(list(_rows(here, newest_first=False)))
    return lines, where


def _page(lines: _Lines, before: int, after: int) -> LogPage:
    seqs = sorted(lines.found)
    at = seqs.index(lines.key[2])
    chosen = [lines.found[seq] for seq in seqs[max(0, at - before) : at + after + 1]]
    entries = entries_of([Found(lines.key, *one, lines.tag) for one in chosen])
    return LogPage(tuple(entries), None, lines.opened, lines.opened)


def _of_its_file(where: Where, lines: _Lines) -> Where:
    """Chunks that may hold more of the file: of one process, those with its rank or none."""
    chunk, number = lines.found[lines.key[2]]
    values = where.values[:-1]
    if chunk.origins[int(chunk.origin[number])].local_rank is None:
        return Where(where.tests[:-1], values)
    return Where(where.tests, [*values, [lines.key[1], NO_RANK]])


def _rows(where: Where, *, newest_first: bool) -> Iterator[ChunkRow]:
    behind: tuple[int, int] | None = None
    for _ in range(0, MAX_OPENED, STEP):
        rows = chunkquery.rows_of(where, Step(STEP, newest_first, False, behind))
        yield from rows
        if len(rows) < STEP:
            return
        behind = (rows[-1].last_ns if newest_first else rows[-1].first_ns, rows[-1].chunk_id)


def _widen(lines: _Lines, rows: Iterator[ChunkRow], wanted: int, *, later: bool) -> None:
    while lines.beside(later=later) < wanted and (one := next(rows, None)) is not None:
        lines.take([one])
