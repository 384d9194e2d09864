"""Searching lines: chunk headers first, then as few chunks as the answer needs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.db.models import F, Q, QuerySet

from apps.core.records import Severity
from apps.logs.domain.chunks import decode_chunk
from apps.logs.domain.conditions import LineFilter, filter_of, matching
from apps.logs.domain.cursor import LineKey, pack_cursor, unpack_cursor
from apps.logs.domain.paging import Found, PageBuilder
from apps.logs.models import Chunk, RankLog
from apps.logs.records import LogEntry, LogPage, LogQuery, Scanned
from apps.logs.store import chunkrows, payloads

MAX_PAGE = 5_000
MAX_SPANNED = 100_000
FIRST_WINDOW = 4
LAST_WINDOW = 32
_BY_SEVERITY = (
    (Severity.DEBUG, "debug"),
    (Severity.INFO, "info"),
    (Severity.WARNING, "warning"),
    (Severity.ERROR, "error"),
    (Severity.CRITICAL, "critical"),
)


def read_lines(query: LogQuery) -> LogPage:
    """One page of lines, ordered by (time_ns, rank, seq, source); keyset by query.after_cursor.

    Console lines that repeat a rank file are left out on nodes that sent rank files, unless
    query.copies. Raises BadCursor and BadQuery. Cost: header rows of the range, then about 1 ms a
    chunk.
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


class _Merged(Exception):
    """Chunks that were read have become a larger one (store/merging.py)."""


class _Search:
    """One search while it runs."""

    def __init__(self, query: LogQuery) -> None:
        self.query = query
        self.after = unpack_cursor(query.after_cursor) if query.after_cursor else None
        limit = max(1, min(query.limit, MAX_PAGE))
        self.builder = PageBuilder(limit, self.after, query.newest_first)
        self.hiding = filter_of(query)
        self.showing = replace(self.hiding, hide_copies=False)
        self.with_files = set() if query.copies else _nodes_with_files(query)
        self.headers = _headers(query, self.hiding, self.after, self.with_files)
        self.total = self.headers.count()
        self.scanned = 0
        self.given = 0
        self.small: list[int] = []

    def parts(self) -> Iterator[Scanned]:
        """See scan_lines()."""
        until = time.monotonic() + self.query.max_s
        while True:
            try:
                yield from self._parts(until)
                return
            except _Merged:
                self._begin_again()

    def _parts(self, until: float) -> Iterator[Scanned]:
        bound: int | None = None
        for window in self._windows():
            for row, body in with_bodies(window):
                bound = row.last_ns if self.query.newest_first else row.first_ns
                self.builder.release(bound)
                if self.builder.full:
                    yield self._part(self.builder.page[-1].key, done=True)
                    return
                resume = self.builder.resume_key(bound)
                spent = self.scanned >= self.query.max_chunks or time.monotonic() > until
                if spent and self.builder.advances(resume):
                    yield self._part(resume, done=True, partial=True)
                    return
                self._add(row, body)
            yield self._part(self._so_far(bound))
        self.builder.release(None)
        yield self._part(self.builder.page[-1].key if self.builder.full else None, done=True)

    def _windows(self) -> Iterator[Sequence[Chunk]]:
        """Chunks by first time (newest first: by last time, descending), few at first."""
        side, order, test = ("last", "-", "lt") if self.query.newest_first else ("first", "", "gt")
        name = f"{side}_ns"
        # At equal times by id upwards: what is merged meanwhile comes later.
        ordered = rows = self.headers.order_by(f"{order}{name}", "chunk_id")
        size, taken = FIRST_WINDOW, 0
        while taken < self.total and (window := list(rows[:size])):
            self._see(window)
            yield window
            taken += len(window)
            size = min(2 * size, LAST_WINDOW)
            bound, last = getattr(window[-1], name), window[-1].chunk_id
            further = Q(**{f"{name}__{test}": bound}) | Q(**{name: bound, "chunk_id__gt": last})
            rows = ordered.filter(further)

    def _see(self, window: Sequence[Chunk]) -> None:
        """Raises _Merged if a chunk of an earlier window is not there any more: the windows from
        then on hold its lines again, or not those of its new neighbours."""
        rows = Chunk.objects.filter(run_id=self.query.run_id, chunk_id__in=self.small)
        if self.small and rows.count() < len(self.small):
            raise _Merged
        self.small += [row.chunk_id for row in window if not row.merged]

    def _begin_again(self) -> None:
        """Behind the last line that was found for good."""
        after = self.builder.page[-1].key if self.builder.page else self.after
        self.builder.after, self.builder.held, self.small = after, [], []
        self.headers = _headers(self.query, self.hiding, after, self.with_files)
        self.total = self.scanned + self.headers.count()

    def _add(self, row: Chunk, body: bytes) -> None:
        condition = self.hiding if row.node in self.with_files else self.showing
        chunk = decode_chunk(body)
        self.builder.add(chunk, matching(chunk, condition), (row.attempt, row.node))
        self.scanned += 1

    def _so_far(self, bound: int | None) -> LineKey | None:
        """Where to go on after the chunks up to the one that begins (ends) at `bound`."""
        if bound is not None:
            key = self.builder.resume_key(bound)
            if self.builder.advances(key):
                return key
        return self.builder.page[-1].key if self.builder.page else self.after

    def _part(self, key: LineKey | None, *, done: bool = False, partial: bool = False) -> Scanned:
        new, self.given = self.builder.page[self.given :], len(self.builder.page)
        return Scanned(
            lines=tuple(map(entry_of, new)),
            chunks_scanned=self.scanned,
            chunks_total=self.total,
            next_cursor=pack_cursor(key) if key is not None else None,
            done=done,
            partial=partial,
        )


def with_bodies(rows: Sequence[Chunk]) -> Iterator[tuple[Chunk, bytes]]:
    """Rows of one run with their bytes."""
    places = [chunkrows.place_of(row) for row in rows]
    bodies = payloads.get(rows[0].run_id, places) if rows else []
    return zip(rows, bodies, strict=True)


def _headers(
    query: LogQuery, condition: LineFilter, after: LineKey | None, with_files: set[str]
) -> QuerySet[Chunk]:
    """Chunks that may hold lines of the page. -- uses ix_chunk_first, ix_chunk_last"""
    rows = Chunk.objects.filter(run_id=query.run_id)
    if query.attempt is not None:
        rows = rows.filter(attempt=query.attempt)
    for nodes in filter(None, ((query.node,) if query.node is not None else (), query.nodes)):
        rows = rows.filter(node__in=nodes)
    if condition.spans and sum(b - a + 1 for a, b in condition.spans) <= MAX_SPANNED:
        asked = [rank for first, last in condition.spans for rank in range(first, last + 1)]
        rows = rows.filter(ranks__overlap=asked)
    start, end = query.from_ns, query.to_ns
    if after is not None and query.newest_first:
        end = after[0] if end is None else min(end, after[0])
    elif after is not None:
        start = after[0] if start is None else max(start, after[0])
    if start is not None:
        rows = rows.filter(last_ns__gte=start)
    if end is not None:
        rows = rows.filter(first_ns__lte=end)
    if with_files:
        rows = rows.exclude(node__in=with_files, copies=F("lines"))
    return _with_severity(rows, query)


def _with_severity(rows: QuerySet[Chunk], query: LogQuery) -> QuerySet[Chunk]:
    """Chunks that have a line of the severities asked for."""
    if query.min_severity <= Severity.DEBUG and query.max_severity >= Severity.CRITICAL:
        return rows
    some = Q(lines=0)
    for severity, column in _BY_SEVERITY:
        if query.min_severity <= severity <= query.max_severity:
            some |= Q(**{f"{column}__gt": 0})
    return rows.filter(some)


def _nodes_with_files(query: LogQuery) -> set[str]:
    rows = RankLog.objects.filter(run_id=query.run_id, lines__gt=0)
    if query.attempt is not None:
        rows = rows.filter(attempt=query.attempt)
    return set(rows.values_list("node", flat=True).distinct())


def entry_of(found: Found) -> LogEntry:
    """The record of a line that was found."""
    attempt, node = found.tag
    line = found.chunk.line(found.number)
    return LogEntry(
        attempt=attempt,
        node=node or None,
        time_ns=line.time_ns,
        seq=line.seq,
        source=line.source,
        channel=line.channel,
        local_rank=line.local_rank,
        rank=line.rank,
        severity=line.severity,
        step=line.step,
        text=line.text,
    )
