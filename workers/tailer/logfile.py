"""Whole lines of a growing text file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workers.tailer.config import Limits
from workers.tailer.followed import FollowedFile, Place


@dataclass(frozen=True, slots=True)
class Origin:
    """What a log file is. source: stable id that the server keeps. local_rank, rank: of the one
    process that writes it, if the path says it. zone: of its stamps without one
    (pathsources.py). tasks_are_ranks, alone: as in docs/ingest.md."""

    source: str
    channel: str
    local_rank: int | None = None
    rank: int | None = None
    zone: str = ""
    tasks_are_ranks: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """A byte range of a file that ends at a line end, except when `partial`. carry: what the bytes
    before it leave open (followed.Place)."""

    origin: Origin
    generation: int
    offset: int
    data: bytes
    modified_ns: int
    partial: bool = False
    carry: bytes = b""


class LogFile:
    """Takes whole lines from a file; an unfinished last line waits for its end.

    patient: however long that takes. Writers flush whole blocks, and half a row is no row.
    """

    def __init__(
        self,
        path: Path,
        origin: Origin,
        place: Place | None,
        limits: Limits,
        *,
        patient: bool = False,
    ) -> None:
        self.file = FollowedFile(path, place)
        self.origin = origin
        self._limits, self._patient = limits, patient

    def take(self, budget_bytes: int, *, final: bool = False) -> Piece | None:
        """The next lines, about `budget_bytes` of them, and move on; None if there are none.

        An unfinished line is taken when it cannot grow (final, or the file was rotated), after
        idle_s of silence unless patient, or at line_bytes; then the piece is partial. A file that
        cannot be read gives None, and says why.
        """
        try:
            return self._take(budget_bytes, final=final)
        except OSError as error:
            self.file.failed(error)
            return None

    def _take(self, budget_bytes: int, *, final: bool) -> Piece | None:
        left = self.file.available()
        if left == 0:
            return None
        data = self.file.read(min(left, budget_bytes))
        end = data.rfind(b"\n") + 1
        if end == 0 and len(data) < left:
            data = self.file.read(min(left, self._limits.line_bytes))
            end = data.find(b"\n") + 1
        if end == 0 and not self._give_part(len(data), left, final=final):
            return None
        place = self.file.place
        piece = Piece(
            origin=self.origin,
            generation=place.generation,
            offset=place.offset,
            data=data[: end or len(data)],
            modified_ns=self.file.modified_ns(),
            partial=end == 0,
            carry=place.carry,
        )
        self.file.advance(len(piece.data))
        return piece

    def _give_part(self, size: int, left: int, *, final: bool) -> bool:
        if size >= self._limits.line_bytes:
            return True
        silent = not self._patient and self.file.quiet_s() > self._limits.idle_s
        ended = final or silent or self.file.superseded()
        return size == left and size > 0 and ended
