"""Log lines of a run as a stream: NDJSON that begins before the search has ended."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import chain
from typing import Any

import orjson
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Query, Router, Schema

from apps.api.auth import needs
from apps.api.lookup import Attempt, run_of
from apps.core.clock import now_ns
from apps.core.database import is_trouble
from apps.core.errors import AppError
from apps.core.places import SEARCHES, streamed
from apps.core.times import TIMES, read_time_ns
from apps.logs import search
from apps.logs.domain.query.logql import duration_ns
from apps.logs.domain.query.querytext import parse_query
from apps.logs.domain.query.ranksets import BadQuery
from apps.logs.fields import fields_of
from apps.logs.records import LogQuery, Scanned
from apps.runs import store as runs

router = Router(auth=needs("read"))
DEFAULT_LINES = 1_000


class LogsAsk(Schema):
    """run: its key. q: as in the query bar (docs/logs.md). since: a duration before now, such as
    10m. from, to: Unix nanoseconds or RFC 3339, both included. order: oldest or newest first.
    limit: lines, at most 50,000 an answer. cursor: `next` of the answer before. copies: console
    copies of rank files too."""

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
def query_logs(request: HttpRequest, ask: Query[LogsAsk]) -> HttpResponseBase:
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
            limit=max(1, ask.limit),
            newest_first=ask.order == "newest",
            copies=ask.copies,
        )
    )
    newest = runs.attempt(run.id, query.attempt)
    newest_ns = None if newest is None else newest.last_ns
    return streamed(SEARCHES, lambda: _begun(search.scan(query), newest_ns))


def _begun(parts: Iterator[Scanned], newest_ns: int | None) -> Generator[bytes, None, None]:
    """The records. A wrong cursor or pattern is raised now, before the answer has begun."""
    return _records(chain([next(parts)], parts), newest_ns)


def _records(parts: Iterator[Scanned], newest_ns: int | None) -> Generator[bytes, None, None]:
    lines = 0
    try:
        for part in parts:
            lines += len(part.lines)
            yield b"".join(orjson.dumps(fields_of(entry)) + b"\n" for entry in part.lines)
            if not part.done:
                yield _record("progress", scanned=part.chunks_scanned, total=part.chunks_total)
    except AppError as error:
        yield _record("error", error=error.message, where=error.where, hint=error.hint)
        return
    except Exception as error:
        if not is_trouble(error):
            raise
        hint = "go on with the cursor of the answer before, or ask again"
        yield _record("error", error="the database does not answer", where="", hint=hint)
        return
    end = {"next": part.next_cursor, "partial": part.partial, "newest_ns": newest_ns}
    yield _record("end", lines=lines, **end)


def _record(kind: str, **fields: Any) -> bytes:
    return orjson.dumps({"kind": kind, **fields}) + b"\n"


def _time_ns(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    time_ns = read_time_ns(text) if text else None
    if text and time_ns is None:
        raise BadQuery(f'"{text[:40]}" is no time', where=f"query.{name}", hint=TIMES)
    return time_ns
