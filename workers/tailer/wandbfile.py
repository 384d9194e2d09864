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
    """Consecutive records; first is the number of records[0] in the file.

    damaged: places found damaged on the way, each told once.
    """

    first: int
    records: tuple[bytes, ...]
    damaged: int = 0


class WandbFile:
    """Takes whole records from a file. refused: why it is not read at all.

    elsewhere: it is not read because its process sends the run itself.
    """

    def __init__(self, path: Path, place: Place | None) -> None:
        self.file = FollowedFile(path, place)
        self.refused = ""
        self.elsewhere = False
        self._asked_size = self._stuck_size = -1
        self.problems: set[str] = set()

    def is_through(self, size: int) -> bool:
        """Whether nothing more can be read of the file while it has this size."""
        return bool(self.refused or self.elsewhere) or size in (
            self.file.place.offset,
            self._stuck_size,
        )

    def take(self, budget_bytes: int, *, final: bool = False) -> RecordPiece | None:
        """The next records, up to about `budget_bytes`, and move on; None if there are none."""
        left = self.available()
        if self.file.place.offset + left == self._stuck_size and not final:
            return None
        window = max(2 * budget_bytes, FIRST_BYTES)
        while left:
            piece = self._read(min(left, window), budget_bytes, final=final and window >= left)
            if piece is None and window >= left:
                # It ends inside a record: of no use to be read again before it has grown.
                self._stuck_size = self.file.place.offset + left
            if piece is not None or window >= left:
                return piece
            window *= 2
        return None

    def available(self) -> int:
        """Bytes that can be read now; 0 if the file is not to be read."""
        return 0 if self.refused or self.elsewhere else self.file.available()

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
            read = read_records(data, place.offset, final=final, most_bytes=budget_bytes)
        except BadPayload as error:
            self._refuse(error)
            return None
        damaged = self._report(read.problems)
        if read.next_offset == place.offset and not damaged:
            return None
        self.file.advance(read.next_offset - place.offset, records=len(read.records))
        return RecordPiece(place.records, tuple(read.records), damaged)

    def _report(self, problems: list[str]) -> int:
        """How many of the problems are new."""
        new = set(problems) - self.problems
        for problem in sorted(new):
            log.warning("%s: %s", self.file.path, problem)
        self.problems |= new
        return len(new)

    def _refuse(self, error: BadPayload) -> None:
        self.refused = str(error)
        log.error("%s is not followed: %s", self.file.path, error)
