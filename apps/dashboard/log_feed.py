"""Lines of logs as pages and streams give them out."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import orjson

from apps.core.database import is_trouble
from apps.core.errors import AppError
from apps.core.records import Severity
from apps.logs import search
from apps.logs.domain.query.marks import Marker, stamp_of
from apps.logs.records import LogEntry, Scanned

MAX_SHOWN_CHARS = 20_000
"""Of one line; all of it is in the download and behind "whole line"."""


def row(entry: LogEntry, marker: Marker) -> dict[str, Any]:
    """One line for a template and for JSON. ns: text, as no browser counts so far. stamp: its own
    date and time, where it begins with one and nothing in that is marked."""
    shown = entry.text[:MAX_SHOWN_CHARS]
    pieces, stamp = marker.pieces(shown), stamp_of(shown)
    if len(pieces[0]) < len(stamp):
        stamp = ""
    return {
        "at": search.line_cursor(entry),
        "ns": str(entry.time_ns),
        "attempt": entry.attempt,
        "node": entry.node,
        "rank": entry.rank,
        "local_rank": entry.local_rank,
        "level": Severity(entry.severity).name.lower(),
        "step": entry.step,
        "source": entry.source,
        "seq": entry.seq,
        "cut": len(entry.text) - len(shown),
        "stamp": stamp,
        "pieces": [pieces[0][len(stamp) :], *pieces[1:]],
    }


def as_bytes(entry: LogEntry, original: bytes) -> str:
    """The bytes of a line as text, where they are not just its text; else "".

    What is no text or no printable character is written \\xNN, a backslash twice.
    """
    if original == entry.text.encode("utf-8", "replace"):
        return ""
    shown = original.decode("utf-8", "surrogateescape")
    return "".join(c if c.isprintable() and c != "\\" else _escaped(c) for c in shown)


def _escaped(character: str) -> str:
    raw = character.encode("utf-8", "surrogateescape")
    return "".join("\\\\" if b == 0x5C else f"\\x{b:02x}" for b in raw)


def ndjson(
    first: dict[str, Any], parts: Iterable[Scanned], marker: Marker
) -> Generator[bytes, None, None]:
    """`first`, then what is found with how far the search is, each a line of JSON.

    The last one has "end"; an error after the start is a line of its own, as the status is sent.
    """
    yield orjson.dumps(first) + b"\n"
    try:
        for part in parts:
            yield orjson.dumps(_said(part, marker)) + b"\n"
    except Exception as error:  # the answer has begun: whatever it is, the page must hear of it
        if isinstance(error, AppError):
            yield orjson.dumps({"error": str(error)}) + b"\n"
        else:
            words = "the database does not answer" if is_trouble(error) else "internal error"
            yield orjson.dumps({"error": f"{words}; try again in a moment"}) + b"\n"
            raise


def _said(part: Scanned, marker: Marker) -> dict[str, Any]:
    return {
        "lines": [row(line, marker) for line in part.lines],
        "searched": part.chunks_scanned,
        "total": part.chunks_total,
        "next": part.next_cursor,
        "partial": part.partial,
        "end": part.done,
    }
