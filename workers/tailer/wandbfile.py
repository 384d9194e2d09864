"""Whole records of a growing `.wandb` file."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from apps.core.errors import BadPayload
from apps.ingest.wandb.parse import decode, read_records
from workers.tailer.followed import FollowedFile, Place

FIRST_BYTES = 256 << 10
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecordPiece:
    """Consecutive records; first is the number of records[0] in the file."""

    first: int
    records: tuple[bytes, ...]


class WandbFile:
    """Takes whole records from a file. refused: why it is not read at all."""

    def __init__(self, path: Path, place: Place | None) -> None:
        self.file = FollowedFile(path, place)
        self.refused = ""
        self._asked_size = -1
        self.problems: set[str] = set()

    def take(self, budget_bytes: int, *, final: bool = False) -> RecordPiece | None:
        """The next records, up to about `budget_bytes`, and move on; None if there are none."""
        left = 0 if self.refused else self.file.available()
        window = max(2 * budget_bytes, FIRST_BYTES)
        while left:
            piece = self._read(min(left, window), budget_bytes, final=final and window >= left)
            if piece is not None or window >= left:
                return piece
            window *= 2
        return None

    def started_ns(self) -> int | None:
        """When the run says it started; None until the record that says so is there."""
        size = self.file.path.stat().st_size
        if size == self._asked_size:
            return None
        self._asked_size = size
        with self.file.path.open("rb") as file:
            data = file.read(FIRST_BYTES)
        try:
            facts = decode(read_records(data).records, now_ns=0).run
        except BadPayload as error:
            self._refuse(error)
            return None
        return facts.started_ns if facts else None

    def _read(self, size: int, budget_bytes: int, *, final: bool) -> RecordPiece | None:
        place = self.file.place
        data = self.file.read(size)
        try:
            read = read_records(data, place.offset, final=final)
            ends = [end for end in read.ends if end <= place.offset + budget_bytes] or read.ends[:1]
            if len(ends) < len(read.ends):
                read = read_records(data[: ends[-1] - place.offset], place.offset)
        except BadPayload as error:
            self._refuse(error)
            return None
        self._report(read.problems)
        if read.next_offset == place.offset:
            return None
        self.file.advance(read.next_offset - place.offset, records=len(read.records))
        return RecordPiece(place.records, tuple(read.records))

    def _report(self, problems: list[str]) -> None:
        for problem in problems:
            if problem not in self.problems:
                self.problems.add(problem)
                log.warning("%s: %s", self.file.path, problem)

    def _refuse(self, error: BadPayload) -> None:
        self.refused = str(error)
        log.error("%s is not followed: %s", self.file.path, error)
