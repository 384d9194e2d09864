"""The lines of a query as a file: plain text or NDJSON, streamed, bounded, and cut aloud."""

from __future__ import annotations

import time
from collections.abc import Generator

import orjson

from apps.core.records import Severity
from apps.dashboard.log_ask import moment
from apps.dashboard.log_page import Question
from apps.logs import search
from apps.logs.fields import fields_of
from apps.logs.records import LogEntry

MAX_LINES = 2_000_000
MAX_BYTES = 1 << 30
MAX_S = 300.0
PAGE = 50_000
"""Lines of one search: chunks that overlap are opened once for each."""


def parts(asked: Question, kind: str) -> Generator[bytes, None, None]:
    """Pieces of the file. kind: "txt" or "ndjson". The last line says how many lines there are, and
    whether more match."""
    say = _json if kind == "ndjson" else _text
    until, lines, size = time.monotonic() + MAX_S, 0, 0
    cursor: str | None = None
    while lines < MAX_LINES and size < MAX_BYTES and time.monotonic() < until:
        query = asked.query(newest_first=False, limit=PAGE, after_cursor=cursor, max_s=MAX_S)
        for found in search.scan(query):
            piece = b"".join(map(say, found.lines))
            lines, size, cursor = lines + len(found.lines), size + len(piece), found.next_cursor
            if piece:
                yield piece
        if cursor is None:
            break
    yield _end(kind, lines, cut=cursor is not None)


def _text(entry: LogEntry) -> bytes:
    """Time, rank, host, level and text, parted by tabs; a line break in the text is indented."""
    rank = "-" if entry.rank is None else str(entry.rank)
    level = Severity(entry.severity).name
    text = entry.text.replace("\n", "\n\t\t\t\t")
    words = (moment(entry.time_ns), rank, entry.node or "-", level, text)
    return ("\t".join(words) + "\n").encode("utf-8", "replace")


def _json(entry: LogEntry) -> bytes:
    return orjson.dumps(fields_of(entry)) + b"\n"


def _end(kind: str, lines: int, *, cut: bool) -> bytes:
    if kind == "ndjson":
        return orjson.dumps({"kind": "end", "lines": lines, "cut": cut}) + b"\n"
    more = "; CUT HERE, more lines match: narrow the query or the time" if cut else ""
    return f"# {lines} lines{more}\n".encode()
