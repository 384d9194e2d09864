"""Reading lines back: chunk headers first, then as few chunks as a page needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from django.db.models import Count, F, Q, QuerySet, Sum

from apps.core.records import Severity
from apps.core.sql import query as ask
from apps.logs.domain.chunks import NO_RANK, decode_chunk
from apps.logs.domain.cursor import MAX_INT64, MIN_INT64, LineKey, pack_cursor, unpack_cursor
from apps.logs.domain.paging import Found, LineFilter, PageBuilder
from apps.logs.models import Chunk, Gap, RankLog, Source
from apps.logs.records import LogEntry, LogPage, LogQuery, RankActivity, SourceInfo
from apps.logs.store import chunkrows, payloads
from apps.runs import store as runs

MAX_PAGE = 5_000
MAX_LISTED = 10_000
MAX_RANKS = 100_000
WINDOW = 16
_FROM_SEVERITY = {
    Severity.INFO: ("info", "warning", "error", "critical"),
    Severity.WARNING: ("warning", "error", "critical"),
    Severity.ERROR: ("error", "critical"),
    Severity.CRITICAL: ("critical",),
}


def read_lines(query: LogQuery) -> LogPage:
    """One page of lines, ordered by (time_ns, rank, seq, source); keyset by query.after_cursor.

    Console lines that repeat a rank file are left out on nodes that sent rank files, unless
    query.copies. Raises BadCursor. Cost: header rows of the range, then about 1 ms a chunk.
    """
    after = unpack_cursor(query.after_cursor) if query.after_cursor else None
    limit = max(1, min(query.limit, MAX_PAGE))
    builder = PageBuilder(limit, after, query.newest_first)
    with_files = set() if query.copies else _nodes_with_files(query)
    headers = _headers(query, after, with_files)
    total = headers.count()
    scanned, resume = _scan(builder, headers, query, with_files)
    next_key = builder.page[-1].key if builder.full else resume
    return LogPage(
        lines=tuple(_entry(found) for found in builder.page),
        next_cursor=pack_cursor(next_key) if next_key is not None else None,
        chunks_scanned=scanned,
        chunks_total=total,
        partial=resume is not None and not builder.full,
    )


def _scan(
    builder: PageBuilder, headers: QuerySet[Chunk], query: LogQuery, with_files: set[str]
) -> tuple[int, LineKey | None]:
    """Fill the page; chunks decompressed, and the key to go on behind if it stopped early."""
    condition = _condition(query)
    shown = replace(condition, hide_copies=False)
    scanned = 0
    for row, body in _in_order(headers, newest_first=query.newest_first):
        bound = row.last_ns if query.newest_first else row.first_ns
        builder.release(bound)
        if builder.full:
            return scanned, None
        key = builder.resume_key(bound)
        if scanned >= query.max_chunks and builder.advances(key):
            return scanned, key
        hide = row.node in with_files
        tag = (row.attempt, row.node)
        builder.add(decode_chunk(body), condition if hide else shown, tag)
        scanned += 1
    builder.release(None)
    return scanned, None


def _condition(query: LogQuery) -> LineFilter:
    return LineFilter(
        ranks=query.ranks,
        min_severity=query.min_severity,
        text=query.text.encode("utf-8", "replace"),
        from_ns=MIN_INT64 if query.from_ns is None else query.from_ns,
        to_ns=MAX_INT64 if query.to_ns is None else query.to_ns,
        hide_copies=True,
    )


def _headers(query: LogQuery, after: LineKey | None, with_files: set[str]) -> QuerySet[Chunk]:
    """Chunks that may hold lines of the page. -- uses ix_chunk_first, ix_chunk_last"""
    rows = Chunk.objects.filter(run_id=query.run_id)
    if query.attempt is not None:
        rows = rows.filter(attempt=query.attempt)
    if query.node is not None:
        rows = rows.filter(node=query.node)
    if query.ranks:
        rows = rows.filter(ranks__overlap=[r if r >= 0 else NO_RANK for r in query.ranks])
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
    return _with_severity(rows, query.min_severity)


def _with_severity(rows: QuerySet[Chunk], min_severity: int) -> QuerySet[Chunk]:
    """Chunks that have a line of at least this severity."""
    if min_severity <= Severity.DEBUG:
        return rows
    columns = next((c for s, c in _FROM_SEVERITY.items() if min_severity <= s), ())
    some = Q(lines=0)
    for column in columns:
        some |= Q(**{f"{column}__gt": 0})
    return rows.filter(some)


def _in_order(headers: QuerySet[Chunk], *, newest_first: bool) -> Iterator[tuple[Chunk, bytes]]:
    """Chunks by first time (newest first: by last time, descending), a window at a time; and
    their bodies."""
    if newest_first:
        ordered, name, test = headers.order_by("-last_ns", "-chunk_id"), "last_ns", "lt"
    else:
        ordered, name, test = headers.order_by("first_ns", "chunk_id"), "first_ns", "gt"
    window: Sequence[Chunk] = list(ordered[:WINDOW])
    while window:
        bodies = payloads.get(window[0].run_id, [chunkrows.place_of(row) for row in window])
        yield from zip(window, bodies, strict=True)
        if len(window) < WINDOW:
            return
        bound, last = getattr(window[-1], name), window[-1].chunk_id
        further = Q(**{f"{name}__{test}": bound}) | Q(**{name: bound, f"chunk_id__{test}": last})
        window = list(ordered.filter(further)[:WINDOW])


def _nodes_with_files(query: LogQuery) -> set[str]:
    rows = RankLog.objects.filter(run_id=query.run_id, lines__gt=0)
    if query.attempt is not None:
        rows = rows.filter(attempt=query.attempt)
    return set(rows.values_list("node", flat=True).distinct())


def _entry(found: Found) -> LogEntry:
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


def end_offset(run_id: int, attempt: int, node: str | None, name: str) -> int:
    """Where the stored part of a file ends; 0 if none is. -- uses logs_source_is_one_file"""
    rows = Source.objects.filter(run_id=run_id, attempt=attempt, node=node or "", name=name)
    return rows.order_by("-generation").values_list("end_offset", flat=True).first() or 0


def end_offsets(run_id: int, attempt: int, node: str, names: Sequence[str]) -> dict[str, int]:
    """The same for several files of a node; those that are not known are not in it.

    -- uses logs_source_is_one_file
    """
    rows = Source.objects.filter(run_id=run_id, attempt=attempt, node=node, name__in=set(names))
    return dict(rows.order_by("generation").values_list("name", "end_offset"))


def source_count(run_id: int) -> int:
    """How many log files the run has. -- uses the primary key"""
    return Source.objects.filter(run_id=run_id).count()


def last_times(
    run_id: int, attempt: int, node: str | None, names: Sequence[str]
) -> dict[tuple[str, int], int]:
    """(source, generation) -> time of its last stored line. -- uses logs_source_is_one_file"""
    rows = Source.objects.filter(
        run_id=run_id, attempt=attempt, node=node or "", name__in=names, last_ns__isnull=False
    )
    return {(row.name, row.generation): row.last_ns for row in rows if row.last_ns is not None}


def sources(run_id: int, attempt: int) -> list[SourceInfo]:
    """All log files of an attempt with what is missing. -- uses logs_source_is_one_file"""
    rows = Source.objects.filter(run_id=run_id, attempt=attempt)
    gaps = {
        row["source_id"]: row
        for row in Gap.objects.filter(run_id=run_id)
        .values("source_id")
        .annotate(number=Count("start_offset"), missing=Sum(F("end_offset") - F("start_offset")))
    }
    return [
        SourceInfo(
            node=row.node or None,
            source=row.name,
            generation=row.generation,
            channel=row.channel,
            local_rank=row.local_rank,
            end_offset=row.end_offset,
            lines=row.lines,
            skipped_lines=row.skipped_lines,
            gaps=gaps[row.source_id]["number"] if row.source_id in gaps else 0,
            missing_bytes=gaps[row.source_id]["missing"] if row.source_id in gaps else 0,
            last_ns=row.last_ns,
        )
        for row in rows.order_by("node", "name", "generation")[:MAX_LISTED]
    ]


def file_totals(
    run_id: int, attempts: Collection[int], prefix: str
) -> dict[tuple[int, bool], tuple[int, str, int]]:
    """(attempt, whether their names begin so) -> (number of nodes, first node, lines) of all files.

    -- uses logs_source_is_one_file
    """
    sql = """
        SELECT attempt, starts_with(name, %s), count(DISTINCT node), min(node), sum(lines)
          FROM logs_source WHERE run_id = %s AND attempt = ANY(%s) GROUP BY 1, 2
    """
    rows = ask(sql, [prefix, run_id, list(attempts)])
    return {(number, own): (nodes, node, int(n)) for number, own, nodes, node, n in rows}


def heard(attempts: Mapping[int, int]) -> dict[int, int]:
    """run id -> how many of its ranks logged a line in the attempt that is given for it.

    One statement, and two a run whose processes do not all name their rank. -- uses primary keys
    """
    sql = """
        SELECT run_id, count(DISTINCT rank), bool_or(rank IS NULL) FROM logs_ranklog
         WHERE (run_id, attempt) IN (SELECT * FROM unnest(%s::bigint[], %s::int[]))
           AND last_ns IS NOT NULL GROUP BY run_id
    """
    rows = ask(sql, [list(attempts), list(attempts.values())])
    return {
        run_id: _placed(run_id, attempts[run_id]) if nameless else ranks
        for run_id, ranks, nameless in rows
    }


def _placed(run_id: int, attempt: int) -> int:
    found = rank_activity(run_id, attempt)
    return len({a.rank for a in found if a.rank is not None and a.last_ns is not None})


def rank_activity(run_id: int, attempt: int) -> list[RankActivity]:
    """All ranks of an attempt, ascending; placed ranks without a line too. -- primary keys"""
    placed = runs.placements(run_id, attempt)
    by_place = {(p.node, p.local_rank): rank for rank, p in placed.items()}
    rows = RankLog.objects.filter(run_id=run_id, attempt=attempt).order_by("node", "slot")
    seen = []
    for row in rows[:MAX_RANKS]:
        rank = row.rank if row.rank is not None else by_place.get((row.node, row.local_rank))
        seen.append(
            RankActivity(
                rank=rank,
                node=row.node or None,
                local_rank=row.local_rank,
                last_ns=row.last_ns,
                last_step=row.last_step,
                worst_severity=row.worst_severity,
                lines=row.lines or row.copies,
                last_text=row.last_text,
            )
        )
    known = {activity.rank for activity in seen}
    silent = [
        RankActivity(rank, p.node, p.local_rank, None, None, 0, 0, "")
        for rank, p in placed.items()
        if rank not in known
    ]
    return sorted([*seen, *silent], key=lambda a: (a.rank is None, a.rank or 0, a.node or ""))
