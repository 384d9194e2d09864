"""Log lines of a run as a stream: NDJSON that begins before the search has ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Query, Router, Schema

from apps.api.auth import needs
from apps.api.lookup import Attempt, run_of
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.core.plain import plain
from apps.core.records import Severity
from apps.core.times import TIMES, read_time_ns, say_time
from apps.logs import search
from apps.logs.domain.logql import duration_ns
from apps.logs.domain.querytext import parse_query
from apps.logs.domain.ranksets import BadQuery
from apps.logs.records import LogEntry, LogQuery, Scanned
from apps.runs import store as runs

router = Router(auth=needs("read"))
DEFAULT_LINES = 1_000
MAX_LINES = 1_000_000
PAGE = 2_000


class LogsAsk(Schema):
    """run: its key. q: as in the query bar (docs/logs.md). since: a duration before now, such as
    10m. from, to: Unix nanoseconds or RFC 3339, both included. order: oldest or newest first.
    limit: lines. cursor: `next` of the answer before. copies: console copies of rank files too."""

    run: str
    q: str = ""
    attempt: Attempt | None = None
    since: str = ""
    order: str = "oldest"
    limit: int = DEFAULT_LINES
    cursor: str = ""
    copies: bool = False


@router.get(
    "/logs/query",
    summary="Log lines, streamed",
    description="NDJSON (`application/x-ndjson`): records of the kind `line` in order of (time, "
    "rank, position), `progress` while chunks are searched, and one `end` with `next` (the cursor "
    "to go on behind, null at the end), `partial` (stopped by a time limit) and `newest_ns` (last "
    "sign of the attempt). A fault after the first byte is a record of the kind `error`. "
    "`from` and `to` are Unix nanoseconds or RFC 3339.",
)
def query_logs(request: HttpRequest, ask: Query[LogsAsk]) -> StreamingHttpResponse:
    run = run_of(ask.run)
    if ask.order not in ("oldest", "newest"):
        raise AppError("order is oldest or newest", where="query.order")
    since_ns = now_ns() - duration_ns(ask.since) if ask.since else None
    query = parse_query(ask.q).into(
        LogQuery(
            run.id,
            attempt=ask.attempt,
            from_ns=_time_ns(request, "from") if since_ns is None else since_ns,
            to_ns=_time_ns(request, "to"),
            after_cursor=ask.cursor or None,
            limit=max(1, min(ask.limit, MAX_LINES)),
            newest_first=ask.order == "newest",
            copies=ask.copies,
        )
    )
    newest = runs.attempt(run.id, query.attempt)
    parts = search.scan(query)
    first = next(parts, None)
    """A wrong cursor or pattern is refused before the answer has begun."""
    records = _records(first, parts, None if newest is None else newest.last_ns)
    return StreamingHttpResponse(
        records, content_type="application/x-ndjson", headers={"X-Accel-Buffering": "no"}
    )


def _records(
    first: Scanned | None, rest: Iterator[Scanned], newest_ns: int | None
) -> Iterator[bytes]:
    part, lines = first, 0
    try:
        while part is not None:
            lines += len(part.lines)
            yield b"".join(map(_line, part.lines))
            if part.done:
                break
            scanned = {"scanned": part.chunks_scanned, "total": part.chunks_total}
            yield _record("progress", scanned)
            part = next(rest, None)
    except AppError as error:
        yield _record("error", {"error": error.message, "where": error.where, "hint": error.hint})
        return
    end = {
        "lines": lines,
        "next": None if part is None else part.next_cursor,
        "partial": part is not None and part.partial,
        "newest_ns": newest_ns,
    }
    yield _record("end", end)


def _line(entry: LogEntry) -> bytes:
    return _record(
        "line",
        {
            "time_ns": entry.time_ns,
            "time": say_time(entry.time_ns),
            "attempt": entry.attempt,
            "rank": entry.rank,
            "local_rank": entry.local_rank,
            "node": entry.node,
            "level": Severity(entry.severity).name.lower(),
            "step": entry.step,
            "source": entry.source,
            "channel": entry.channel,
            "seq": entry.seq,
            "text": entry.text,
            "at": search.line_cursor(entry),
        },
    )


def _record(kind: str, fields: dict[str, Any]) -> bytes:
    return orjson.dumps({"kind": kind, **plain(fields)}) + b"\n"


def _time_ns(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    time_ns = read_time_ns(text) if text else None
    if text and time_ns is None:
        raise BadQuery(f'"{text[:40]}" is no time', where=f"query.{name}", hint=TIMES)
    return time_ns
