"""Use cases of reading logs: search as a stream, context of a line, and pictures over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

from apps.logs import store
from apps.logs.domain.clock.timeline import (
    axis_of,
    hours_of,
    matrix_of,
    pulse_of,
    span_ns,
    step_span_ns,
)
from apps.logs.domain.query.cursor import (
    MAX_INT64,
    MIN_INT64,
    BadCursor,
    pack_cursor,
    unpack_cursor,
)
from apps.logs.domain.query.paging import file_key
from apps.logs.domain.query.templatematch import templates_of
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


def cursor_ns(cursor: str) -> int:
    """The time of the line that a cursor stands for. Raises BadCursor."""
    return unpack_cursor(cursor)[0]


def around(run_id: int, cursor: str, before: int = 10, after: int = 10) -> LogPage:
    """A line with what its file says before and after it, in file order.

    cursor: of line_cursor(). The page is empty if the line is not there (any more). Raises
    BadCursor.
    """
    counts = (max(0, min(before, MAX_CONTEXT)), max(0, min(after, MAX_CONTEXT)))
    try:
        return store.context_of(run_id, unpack_cursor(cursor), *counts)
    except ValueError as error:
        raise _no_line() from error


def line(run_id: int, cursor: str) -> tuple[LogEntry, bytes] | None:
    """A line and the bytes it was in its file; None if it is not there (any more). cursor: of
    line_cursor(). Raises BadCursor."""
    try:
        return store.line_of(run_id, unpack_cursor(cursor))
    except ValueError as error:
        raise _no_line() from error


def template_of(run_id: int, text: str) -> int | None:
    """The template that a line of the run was counted under; None if that is not known."""
    found = (one for one in templates_of(text) if store.template_texts(run_id, (one,)))
    return next(found, None)


def _no_line() -> BadCursor:
    return BadCursor("the cursor names no line", where="cursor")


def pulse(
    run_id: int, attempt: int | None, from_ns: int | None, to_ns: int | None, buckets: int
) -> Pulse:
    """Lines by severity over time, of all nodes and of each; whole minutes.

    from_ns, to_ns None: from the first, to the last line. At most `buckets` buckets; no line at
    all gives one empty bucket.
    """
    start, end = _span(run_id, attempt, from_ns, to_ns)
    hours = store.node_hours(run_id, attempt, *hours_of(start, end))
    return pulse_of(hours, axis_of(start, end, buckets))


def attempt_pulses(
    run_id: int, windows: Mapping[int, tuple[int, int]], buckets: int
) -> list[tuple[int, Pulse]]:
    """The same for several attempts at once, each from_ns to to_ns: (attempt, its pulse) of those
    with lines in these hours, by attempt. Two statements, however many attempts there are."""
    hours = {attempt: hours_of(*window) for attempt, window in windows.items()}
    return [
        (attempt, pulse_of(own, axis_of(*windows[attempt], buckets)))
        for attempt, own in store.attempt_hours(run_id, hours)
    ]


def rank_matrix(
    run_id: int, attempt: int | None, from_ns: int | None, to_ns: int | None, buckets: int
) -> RankMatrix:
    """Worst severity of every rank that has a line, over time; arguments as of pulse()."""
    start, end = _span(run_id, attempt, from_ns, to_ns)
    hours = store.node_hours(run_id, attempt, *hours_of(start, end))
    return matrix_of(hours, axis_of(start, end, buckets))


def _span(
    run_id: int, attempt: int | None, from_ns: int | None, to_ns: int | None
) -> tuple[int, int]:
    """The times that are asked for, else those of the first and the last line."""
    if from_ns is not None and to_ns is not None:
        return from_ns, max(from_ns, to_ns)
    outer = store.hour_span(run_id, attempt)
    ends = [store.node_hours(run_id, attempt, hour, hour) for hour in sorted({*(outer or ())})]
    start, end = span_ns(chain.from_iterable(ends)) or (
        from_ns or to_ns or 0,
        from_ns or to_ns or 0,
    )
    start, end = start if from_ns is None else from_ns, end if to_ns is None else to_ns
    return start, max(start, end)
