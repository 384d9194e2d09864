"""A CSV file of metrics that grows and is rewritten when columns are added (Lightning)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from apps.ingest.rows.parse import csv_content
from workers.tailer.config import AgentConfig
from workers.tailer.followed import FollowedFile, Place
from workers.tailer.rewritten import link
from workers.tailer.rowfile import seen_ns
from workers.tailer.taken import Begin, Taken, part_of

REWRITE_S, LONGEST_REWRITE_S = 2.0, 20.0
"""A rewrite is over when the file has not changed for so long, and it takes no longer than that."""
_COLUMNS_BYTES = 1 << 20
_TAIL_BYTES = 256
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Cursor:
    """Where `place` stands in the file as it was. tail: the bytes before."""

    place: Place
    columns: str
    offset: int
    tail: bytes


class CsvFile:
    """A Taker of one file. Rows are known by number and content, not by their place in the file."""

    def __init__(self, path: Path, place: Place | None, config: AgentConfig) -> None:
        self.file = FollowedFile(path, place)
        self.refused = ""
        self.problems: set[str] = set()
        self.events: list[dict[str, Any]] = []
        self._caught_up = False
        self._config = config
        self._cursor: _Cursor | None = None
        self._seen: tuple[int, int, int] | None = None
        self._missed_s: float | None = None

    def pending(self) -> int:
        """About how much is new; 0 for a file that has not changed since it was handed over."""
        try:
            now = self.file.path.stat()
        except OSError:
            return 0
        if self._seen == (now.st_ino, now.st_size, now.st_mtime_ns):
            return 0
        at = self._cursor.offset if self._cursor and now.st_size >= self._cursor.offset else 0
        return max(now.st_size - at, 1)

    def begin(self, *, final: bool) -> Begin | None:
        """Nobody says: now, or the last change of a file that is complete."""
        try:
            return Begin(seen_ns(self._config, self.file.path.stat().st_mtime_ns))
        except OSError:
            return None

    def take(self, budget_bytes: int, *, final: bool) -> Taken | None:
        """The next rows, under the columns that the file has now."""
        try:
            file = self.file.path.open("rb")
        except FileNotFoundError:
            return None
        with file:
            now = os.fstat(file.fileno())
            cursor = self._find(file, now, final=final)
            if cursor is None:
                return None
            rows = next(_chunks(file, cursor.offset, max(budget_bytes, 1), final=final), [])
            if not rows:
                self._seen = (now.st_ino, now.st_size, now.st_mtime_ns)
                return None
            return self._taken(file, cursor, rows, now)

    def _taken(
        self, file: IO[bytes], cursor: _Cursor, rows: list[bytes], now: os.stat_result
    ) -> Taken:
        place, digest = cursor.place, cursor.place.head
        for row in rows:
            digest = link(digest, csv_content(cursor.columns, row))
        size = sum(map(len, rows))
        offset = cursor.offset + size
        self.file.place = replace(
            place,
            device=now.st_dev,
            inode=now.st_ino,
            offset=offset,
            records=place.records + len(rows),
            head=digest,
        )
        self._missed_s = None
        self._cursor = _Cursor(self.file.place, cursor.columns, offset, _tail(file, offset))
        first = next(_chunks(file, _columns_end(file), 1, final=True), [b""])[0]
        header = {
            "format": "csv",
            "columns": cursor.columns,
            "seen_ns": seen_ns(self._config, now.st_mtime_ns),
            "live": self._caught_up and not self._config.once,
        }
        self._caught_up = offset == now.st_size
        part = part_of(place.generation, csv_content(cursor.columns, first).encode())
        return Taken(part, place.records, rows, header)

    def _find(self, file: IO[bytes], now: os.stat_result, *, final: bool) -> _Cursor | None:
        """Where the rows that were not handed over begin; None while a rewrite goes on."""
        start = _columns_end(file)
        if start == 0:
            return None
        columns = os.pread(file.fileno(), start, 0).decode("utf-8", "replace")
        cursor, place = self._cursor, self.file.place
        if (
            cursor is not None
            and cursor.place == place
            and cursor.columns == columns
            and now.st_size >= cursor.offset
            and _tail(file, cursor.offset) == cursor.tail
        ):
            return cursor
        offset = _behind(file, start, columns, place)
        if offset is not None:
            return _Cursor(place, columns, offset, b"")
        if not final and now.st_ino == place.inode and self._may_be_rewritten(now):
            return None
        return _Cursor(Place(generation=place.generation + 1), columns, start, b"")

    def _may_be_rewritten(self, now: os.stat_result) -> bool:
        """Whether the rows that are missed may come yet: the file has just changed, and they have
        not been missed for long."""
        if self._missed_s is None:
            self._missed_s = time.monotonic()
        long = time.monotonic() - self._missed_s > LONGEST_REWRITE_S
        return not long and time.time() - now.st_mtime < REWRITE_S


def _columns_end(file: IO[bytes]) -> int:
    """Where the header line ends; 0 while it is not whole."""
    return os.pread(file.fileno(), _COLUMNS_BYTES, 0).find(b"\n") + 1


def _tail(file: IO[bytes], offset: int) -> bytes:
    size = min(_TAIL_BYTES, offset)
    return os.pread(file.fileno(), size, offset - size)


def _behind(file: IO[bytes], start: int, columns: str, place: Place) -> int | None:
    """The offset behind the rows of `place`, None if the file does not hold them."""
    digest, left, offset = "", place.records, start
    for rows in _chunks(file, start, _CHUNK_BYTES, final=False) if left else ():
        for row in rows[:left]:
            digest = link(digest, csv_content(columns, row))
            offset += len(row)
        left -= min(left, len(rows))
        if left == 0:
            break
    return offset if left == 0 and digest == place.head else None


def _chunks(file: IO[bytes], offset: int, size: int, *, final: bool) -> Iterator[list[bytes]]:
    """Whole rows from an offset on, about `size` bytes of them at a time. A line feed inside
    quotes ends no row. final: what stands behind the last line feed is a row."""
    window = size
    while data := os.pread(file.fileno(), window, offset):
        rows = _whole_rows(data)
        if not rows and len(data) == window:
            window *= 2
            continue
        last = b"" if len(data) == window else data[sum(map(len, rows)) :]
        if final and last:
            rows.append(last)
        if not rows:
            return
        yield rows
        offset, window = offset + sum(map(len, rows)), size


def _whole_rows(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")[:-1]
    if b'"' not in data:
        return [line + b"\n" for line in lines]
    rows, open_row = list[bytes](), b""
    for line in lines:
        open_row += line + b"\n"
        if open_row.count(b'"') % 2 == 0:
            rows.append(open_row)
            open_row = b""
    return rows
