"""Searching lines: rows of chunks first, then as few chunks as the answer needs.

Chunks may be merged while a search runs. What it knows is then not what is there: it begins anew
behind the lines that it gave out, with the rows of that moment.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.chunk.chunks import ChunkLines
from apps.logs.domain.chunk.openchunk import OpenChunk
from apps.logs.domain.query.conditions import LineFilter, filter_of, matching, texts_match
from apps.logs.domain.query.cursor import LineKey, pack_cursor, unpack_cursor
from apps.logs.domain.query.entries import entries_of
from apps.logs.domain.query.paging import PageBuilder
from apps.logs.domain.query.pruning import may_match, probes_of
from apps.logs.domain.query.templatematch import probes_of_templates
from apps.logs.domain.query.textsearch import may_hold
from apps.logs.records import LogEntry, LogPage, LogQuery, Scanned
from apps.logs.store import chunkquery
from apps.logs.store.chunkquery import ChunkRow, Step
from apps.logs.store.templates import template_texts

MAX_PAGE = 50_000
ROWS = (16, 256, 4_096)
"""Rows of chunks asked for at once: few at first, most pages need no more."""
ROWS_SIEVED = (256, 1_024, 1_024)
WINDOW = (1, 3, 8)
"""Chunks opened at once. Eight take some 30 MB."""
PROGRESS_S = 0.2


def read_lines(query: LogQuery) -> LogPage:
    """One page of lines, ordered by (time_ns, rank, seq, source); keyset by query.after_cursor.

    Console lines that repeat a rank file are left out on nodes that sent rank files, unless
    query.copies. Raises BadCursor and BadQuery. Cost: rows of the chunks in range, then 1 to 5 ms
    for each chunk that is opened.
    """
    lines: list[LogEntry] = []
    for part in scan_lines(query):
        lines += part.lines
    return LogPage(
        lines=tuple(lines),
        next_cursor=part.next_cursor,
        chunks_scanned=part.chunks_scanned,
        chunks_total=part.chunks_total,
        partial=part.partial,
    )


def scan_lines(query: LogQuery) -> Iterator[Scanned]:
    """The page of read_lines() in parts, as its lines are found. At least one part, the last done.

    Raises BadCursor and BadQuery before the first part.
    """
    return _Search(query).parts()


Hiding = set[tuple[int, str]]
"""(attempt, node) whose console copies are not shown"""


class _ChunksMoved(Exception):
    """A chunk that was chosen is gone."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A chunk in its turn. read: it was fetched. lines None: nothing in it is asked for."""

    row: ChunkRow
    read: bool = True
    lines: ChunkLines | None = None
    hit: NDArray[np.bool_] | None = None


class _Search:
    """One search while it runs."""

    def __init__(self, query: LogQuery) -> None:
        self.query = query
        self.after = unpack_cursor(query.after_cursor) if query.after_cursor else None
        limit = max(1, min(query.limit, MAX_PAGE))
        self.builder = PageBuilder(limit, self.after, query.newest_first)
        self.hiding = filter_of(query)
        self.showing = replace(self.hiding, hide_copies=False)
        texts = template_texts(query.run_id, query.templates)
        self.probes = (*probes_of(self.hiding), *probes_of_templates(texts))
        self.total = self.scanned = self.opened = self.given = 0
        self.bound: int | None = None

    def parts(self) -> Iterator[Scanned]:
        """See scan_lines()."""
        until = time.monotonic() + self.query.max_s
        told = time.monotonic()
        for chunk in self._chunks():
            bound = self._release(chunk.row)
            if self.builder.full:
                break
            resume = self.builder.resume_key(bound)
            now = time.monotonic()
            spent = self.opened >= self.query.max_chunks or now > until
            if spent and self.builder.advances(resume):
                yield self._part(resume, done=True, partial=True)
                return
            if len(self.builder.page) > self.given or now > told + PROGRESS_S:
                yield self._part(resume if self.builder.advances(resume) else self.after)
                told = time.monotonic()
            self._take(chunk)
        else:
            self.builder.release(None)
        full = self.builder.full
        yield self._part(self.builder.page[-1].key if full else None, done=True)

    def _take(self, chunk: _Opened) -> None:
        self.scanned += 1
        self.opened += chunk.read
        if chunk.lines is not None and chunk.hit is not None:
            self.builder.add(chunk.lines, chunk.hit, (chunk.row.attempt, chunk.row.node))

    def _ahead(self) -> LogQuery:
        """The query with times that leave out what lies before the page."""
        start, end, after = self.query.from_ns, self.query.to_ns, self.builder.after
        if after is not None and self.query.newest_first:
            end = after[0] if end is None else min(end, after[0])
        elif after is not None:
            start = after[0] if start is None else max(start, after[0])
        return replace(self.query, from_ns=start, to_ns=end)

    def _chunks(self) -> Iterator[_Opened]:
        """All chunks of the query in their order, the hopeless ones closed."""
        while True:
            try:
                yield from self._as_they_are()
                return
            except _ChunksMoved:
                if self.bound is not None:
                    self.builder.restart(self.bound)

    def _as_they_are(self) -> Iterator[_Opened]:
        """The chunks of this moment. Raises _ChunksMoved when it is over."""
        where = chunkquery.where_of(self._ahead(), self.hiding.spans)
        newest = self.query.newest_first
        behind: tuple[int, int] | None = None
        seen: list[int] = []
        for size in _growing(ROWS_SIEVED if self.probes else ROWS):
            step = Step(size, newest, bool(self.probes), behind)
            rows = chunkquery.rows_of(where, step)
            if seen and not chunkquery.are_there(self.query.run_id, seen):
                raise _ChunksMoved
            if behind is None:
                known = len(rows) < size or not self.probes  # most pages end within few chunks
                self.total = self.scanned + (len(rows) if known else chunkquery.count(where))
            yield from self._opened(rows)
            if len(rows) < size or self.builder.full:
                return
            if behind is None:
                self.total = self.scanned - len(rows) + chunkquery.count(where)
            behind = (rows[-1].last_ns if newest else rows[-1].first_ns, rows[-1].chunk_id)
            seen += [row.chunk_id for row in rows if not row.merged]

    def _opened(self, rows: Sequence[ChunkRow]) -> Iterator[_Opened]:
        """The chunks of these rows, those that may hold a line with their lines."""
        copied = {(row.attempt, row.node) for row in rows if row.copies}
        files = set() if self.query.copies else copied
        hiding = chunkquery.nodes_with_files(self.query.run_id, sorted(files))
        wanted = [row for row in rows if self._may_hold(row, hiding)]
        matched = self._matched(wanted, hiding)
        ids = {row.chunk_id for row in wanted}
        for row in rows:
            chunk = next(matched, None) if row.chunk_id in ids else _Opened(row, read=False)
            if chunk is None:
                return
            yield chunk

    def _may_hold(self, row: ChunkRow, hiding: Hiding) -> bool:
        if row.copies == row.lines and (row.attempt, row.node) in hiding:
            return False
        return may_match(row.sieve, self.probes)

    def _matched(self, rows: Sequence[ChunkRow], hiding: Hiding) -> Iterator[_Opened]:
        """The chunks with their lines, in order, until the page is full.

        Where few lines are hits the next window is fetched while the one before is matched.
        """
        waiting: list[Callable[[], _Opened]] = []
        for number, window in enumerate(_windows(rows, WINDOW)):
            if not waiting:
                self._release(window[0])
                if self.builder.full:
                    return
            coming = self._fetched(window, hiding)
            yield from (result() for result in waiting)
            waiting = coming
            if number == 0 or not self.hiding.contains:
                yield from (result() for result in waiting)
                waiting = []
        yield from (result() for result in waiting)

    def _release(self, row: ChunkRow) -> int:
        """Give out what stands before the lines of a chunk; its bound."""
        self.bound = row.last_ns if self.query.newest_first else row.first_ns
        self.builder.release(self.bound)
        return self.bound

    def _fetched(self, rows: Sequence[ChunkRow], hiding: Hiding) -> list[Callable[[], _Opened]]:
        """What gives the chunks of these rows, which are at work already if they are several."""
        chunks = chunkquery.opened(self.query.run_id, rows)
        if len(chunks) < len(rows):
            raise _ChunksMoved
        work: list[Callable[[], _Opened]] = [
            partial(
                self._open,
                row,
                chunks[row.chunk_id],
                self.hiding if (row.attempt, row.node) in hiding else self.showing,
            )
            for row in rows
        ]
        return work if len(work) == 1 else [_pool().submit(one).result for one in work]

    def _open(self, row: ChunkRow, chunk: OpenChunk, condition: LineFilter) -> _Opened:
        opened = _matched_of(row, chunk, condition)
        chunkquery.used(self.query.run_id, row, chunk)
        return opened

    def _part(self, key: LineKey | None, *, done: bool = False, partial: bool = False) -> Scanned:
        new, self.given = self.builder.page[self.given :], len(self.builder.page)
        return Scanned(
            lines=tuple(entries_of(new)),
            chunks_scanned=self.scanned,
            chunks_total=max(self.total, self.scanned),
            next_cursor=pack_cursor(key) if key is not None else None,
            done=done,
            partial=partial,
        )


def _growing(sizes: Sequence[int]) -> Iterator[int]:
    return chain(sizes, repeat(sizes[-1]))


def _windows(rows: Sequence[ChunkRow], sizes: Sequence[int]) -> Iterator[Sequence[ChunkRow]]:
    start = 0
    for size in _growing(sizes):
        if start >= len(rows):
            return
        yield rows[start : start + size]
        start += size


@cache
def _pool() -> ThreadPoolExecutor:
    """Of this process: matching lets go of the interpreter while it decompresses."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="logs-search")


def _matched_of(row: ChunkRow, chunk: OpenChunk, condition: LineFilter) -> _Opened:
    """A chunk with what matches. Its texts are opened first: where they tell that nothing does,
    its other columns stay closed."""
    if not condition.contains:
        return _Opened(row, lines=chunk.columns, hit=matching(chunk.columns, condition))
    texts = chunk.texts
    if condition.of_text_only:
        hit = texts_match(texts, condition, np.ones(len(texts), dtype=np.bool_))
        return _Opened(row, lines=chunk.columns, hit=hit) if hit.any() else _Opened(row)
    if not all(may_hold(texts, needle) for needle in condition.contains):
        return _Opened(row)
    return _Opened(row, lines=chunk.columns, hit=matching(chunk.columns, condition))
