"""Whole records of a growing TensorBoard event file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from apps.core.errors import BadPayload
from apps.ingest.tensorboard.parse import decode
from apps.ingest.tensorboard.wire import (
    HEAD_BYTES,
    MAX_RECORD_BYTES,
    read_records,
    record_bytes,
)
from workers.tailer.followed import FollowedFile, Place
from workers.tailer.taken import Begin, Taken, part_of

SEARCH_BYTES = 4 << 20
_START_BYTES = 64 << 10
_START_S = 5.0
log = logging.getLogger(__name__)


class EventFile:
    """A Taker of one event file. under: what stands before its tags."""

    def __init__(self, path: Path, place: Place | None, under: str = "") -> None:
        self.file = FollowedFile(path, place)
        self.refused = ""
        self.problems: set[str] = set()
        self.events: list[dict[str, Any]] = []
        self._under = under

    def pending(self) -> int:
        """Bytes that are new; 0 for a file that is none of TensorBoard's."""
        return 0 if self.refused else self.file.available()

    def begin(self, *, final: bool) -> Begin | None:
        """The time of the first event. The second one may say from which step the writer goes on,
        so that it is waited for a moment."""
        if self.refused or (self.file.available() == 0 and self.file.place.offset == 0):
            return None
        with self.file.path.open("rb") as file:
            data = file.read(_START_BYTES)
        records = self._read(data, 0, final=False)[0][:2]
        if final and not records:
            self.problems.add("holds no whole record")
        young = len(records) < 2 and not final and self.file.quiet_s() < _START_S
        if not records or young:
            return None
        found = decode(records, now_ns=self.file.modified_ns())
        step = found.resumed[0] if found.resumed else None
        return Begin(found.first_ns or self.file.modified_ns(), step)

    def take(self, budget_bytes: int, *, final: bool) -> Taken | None:
        """The next records. One too large to hold numbers is stepped over and sent as empty."""
        left = self.pending()
        if left < HEAD_BYTES:
            return None
        place = self.file.place
        size = record_bytes(self.file.read(HEAD_BYTES))
        if size is not None and MAX_RECORD_BYTES < size <= left:
            return self._taken(place, [b""], size)
        window = min(left, max(budget_bytes, SEARCH_BYTES if size is None else size))
        data = self.file.read(window)
        records, end = self._read(data, place.offset, final=final and window == left)
        return self._taken(place, records, end - place.offset) if records else None

    def _taken(self, place: Place, records: list[bytes], size: int) -> Taken:
        self.file.advance(size, records=len(records))
        begin = self.file.beginning(HEAD_BYTES)
        first = self.file.beginning(min(record_bytes(begin) or HEAD_BYTES, 4096))
        header = {"under": self._under} if self._under else {}
        return Taken(part_of(place.generation, first), place.records, records, header)

    def _read(self, data: bytes, offset: int, *, final: bool) -> tuple[list[bytes], int]:
        try:
            read = read_records(data, offset, final=final)
        except BadPayload as error:
            self.refused = str(error)
            log.error("%s is not followed: %s", self.file.path, error)
            return [], offset
        for problem in read.problems:
            if problem not in self.problems:
                self.problems.add(problem)
                log.warning("%s: %s", self.file.path, problem)
        return read.records, read.next_offset
