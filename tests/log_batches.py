"""Batches for the database tests of apps/logs."""

from __future__ import annotations

from apps.logs.records import LogQuery
from apps.logs.store import read_lines, write_lines
from tests.log_samples import parse

RUN = 7
NODE = "gpu-b02"


def numbered(first, last):
    """Lines first..last-1, 8 bytes each."""
    return "".join(f"line {number:02d}\n" for number in range(first, last))


def send(text, *, offset=0, batch_id="b", attempt=0, node=NODE, **changes):
    """One batch with one segment."""
    parsed = parse(text, offset=offset, node=node, **changes)
    return write_lines(RUN, attempt, node, [parsed], batch_id=batch_id)


def stored(**changes):
    """Texts of all stored lines, in key order."""
    return [line.text for line in read_all(**changes)]


def read_all(limit=3, **changes):
    """All lines of the run, page by page."""
    lines, cursor = [], None
    while True:
        page = read_lines(LogQuery(RUN, limit=limit, after_cursor=cursor, **changes))
        lines += page.lines
        cursor = page.next_cursor
        if cursor is None:
            return lines
