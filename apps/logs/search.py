"""Use cases of reading logs: search as a stream, context of a line, and pictures over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from apps.logs import store
from apps.logs.domain.cursor import MAX_INT64, MIN_INT64, BadCursor, pack_cursor, unpack_cursor
from apps.logs.domain.paging import file_key, file_of
from apps.logs.domain.timeline import (
    NodeHour,
    axis_of,
    hours_of,
    matrix_of,
    pulse_of,
    span_ns,
    step_span_ns,
)
from apps.logs.records import LogEntry, LogPage, LogQuery, Pulse, RankMatrix, Scanned

MAX_CONTEXT = 1_000
_ALL_HOURS = hours_of(MIN_INT64, MAX_INT64)


def scan(query: LogQuery) -> Iterator[Scanned]:
    """The lines of a query in parts, as they are found: in key order, limit lines in all.

    At least one part comes, the last is `done`. Where it ends early (limit, max_chunks, max_s)
    next_cursor goes on without a line lost or doubled. Raises BadQuery and BadCursor before the
    first part.
    """
    yield from store.scan_lines(_with_times(query))


def page(query: LogQuery) -> LogPage:
    """All parts of scan() as one page."""
    return store.read_lines(_with_times(query))


def _with_times(query: LogQuery) -> LogQuery:
    """The query with its steps as times: minutes in which lines name them."""
    if query.from_step is None and query.to_step is None:
        return query
    hours = store.node_hours(query.run_id, query.attempt, *_ALL_HOURS)
    span = step_span_ns(hours, query.from_step, query.to_step)
    start, end = span if span is not None else (MAX_INT64, MIN_INT64)
    return replace(
        query,
        from_ns=start if query.from_ns is None else max(start, query.from_ns),
        to_ns=end if query.to_ns is None else min(end, query.to_ns),
    )


def line_cursor(entry: LogEntry) -> str:
    """The cursor of a line: a page that begins behind it, or around() it."""
    rank = -1 if entry.rank is None else entry.rank
    file = file_key(entry.source, entry.attempt, entry.node or "")
    return pack_cursor((entry.time_ns, rank, entry.seq, file))


def around(run_id: int, cursor: str, before: int = 10, after: int = 10) -> LogPage:
    """A line with what its file says before and after it, in file order.

    cursor: of line_cursor(). The page is empty if the line is not there (any more). Raises
    BadCursor.
    """
    place, time_ns = _place(run_id, cursor)
    counts = (max(0, min(before, MAX_CONTEXT)), max(0, min(after, MAX_CONTEXT)))
    return store.context_of(place, time_ns, *counts)


def line(run_id: int, cursor: str) -> tuple[LogEntry, bytes] | None:
    """A line and the bytes it was in its file; None if it is not there (any more). cursor: of
    line_cursor(). Raises BadCursor."""
    return store.line_of(*_place(run_id, cursor))


def _place(run_id: int, cursor: str) -> tuple[store.LinePlace, int]:
    """Where a line stands, and its time."""
    key = unpack_cursor(cursor)
    try:
        source, attempt, node = file_of(key[3])
    except ValueError as error:
        raise BadCursor("the cursor names no line", where="cursor") from error
    return store.LinePlace(run_id, attempt, node, source, key[2]), key[0]


def pulse(
    run_id: int, attempt: int | None, from_ns: int | None, to_ns: int | None, buckets: int
) -> Pulse:
    """Lines by severity over time, of all nodes and of each; whole minutes.

    from_ns, to_ns None: from the first, to the last line. At most `buckets` buckets; no line at
    all gives one empty bucket.
    """
    hours, start, end = _hours(run_id, attempt, from_ns, to_ns)
    return pulse_of(hours, axis_of(start, end, buckets))


def rank_matrix(
    run_id: int, attempt: int | None, from_ns: int | None, to_ns: int | None, buckets: int
) -> RankMatrix:
    """Worst severity of every rank that has a line, over time; arguments as of pulse()."""
    hours, start, end = _hours(run_id, attempt, from_ns, to_ns)
    return matrix_of(hours, axis_of(start, end, buckets))


def _hours(
    run_id: int, attempt: int | None, from_ns: int | None, to_ns: int | None
) -> tuple[list[NodeHour], int, int]:
    first, _ = _ALL_HOURS if from_ns is None else hours_of(from_ns, from_ns)
    _, last = _ALL_HOURS if to_ns is None else hours_of(to_ns, to_ns)
    hours = store.node_hours(run_id, attempt, first, last)
    start, end = span_ns(hours) or (from_ns or to_ns or 0, from_ns or to_ns or 0)
    return hours, start if from_ns is None else from_ns, end if to_ns is None else to_ns
