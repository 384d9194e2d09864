"""One growing file and how far it has been handed over: growth, truncation, rotation."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

HEAD_BYTES = 64
CLOSE_AFTER_S = 30.0


@dataclass(frozen=True, slots=True)
class Place:
    """How far a file has been handed over, kept durably.

    generation: counts truncations and rotations of this path. offset: of the next byte, inside
    the generation. head: hex of the first bytes already handed over; tells a file that was
    emptied and has grown again from one that only grew; of a file that is rewritten, a digest of
    the rows handed over. records: records or rows so far. marks: of a file that is rewritten,
    earlier states as "rows:digest", oldest first. begins: of such a file, number of the first row
    of this generation. attempt: of the start that wrote this generation, if one process wrote it
    all and it was settled.
    """

    device: int = 0
    inode: int = 0
    generation: int = 0
    offset: int = 0
    head: str = ""
    records: int = 0
    marks: str = ""
    begins: int = 0
    attempt: int | None = None


class FollowedFile:
    """Reads one path from `place` on; `place` moves with advance().

    A rotated file is read to its end before its successor: through the open handle, or after a
    restart by its inode in the same folder. What a truncation removed unread is lost and counted
    in `cuts`. unreadable: why the file cannot be opened, "" if it can.
    """

    def __init__(self, path: Path, place: Place | None = None) -> None:
        self.path = path
        self.place = place or Place()
        self.cuts = 0
        self.unreadable = ""
        self._handle: int | None = None
        self._size = -1
        self._changed_s = time.monotonic()

    def quiet_s(self) -> float:
        """Seconds since the file was last seen to grow."""
        return time.monotonic() - self._changed_s

    def modified_ns(self) -> int:
        """Time of the last change, by the file system's clock."""
        if self._handle is not None:
            return os.fstat(self._handle).st_mtime_ns
        return self.path.stat().st_mtime_ns

    def available(self) -> int:
        """Bytes that can be read now; notices truncation and rotation."""
        if self._handle is None and not self._open():
            return 0
        left = self._left()
        if left == 0 and self.superseded():
            self.close()
            return self.available()
        if left == 0 and self.quiet_s() > CLOSE_AFTER_S:
            self.close()
        return left

    def read(self, size: int) -> bytes:
        """Up to `size` bytes from the place on, without moving it."""
        return os.pread(self._descriptor(), size, self.place.offset)

    def beginning(self, size: int) -> bytes:
        """Up to `size` bytes from the start of the file that is being read."""
        return os.pread(self._descriptor(), size, 0)

    def advance(self, size: int, records: int = 0) -> None:
        """`size` bytes more are handed over."""
        offset = self.place.offset + size
        head = self.place.head
        if len(head) < 2 * HEAD_BYTES:
            head = os.pread(self._descriptor(), min(HEAD_BYTES, offset), 0).hex()
        self.place = replace(
            self.place, offset=offset, head=head, records=self.place.records + records
        )

    def superseded(self) -> bool:
        """Whether the path now names another file that has content: this one will not grow."""
        try:
            now = self.path.stat()
        except OSError:
            return False
        return (now.st_dev, now.st_ino) != self._identity() and now.st_size > 0

    def close(self) -> None:
        """Give the handle back; the next available() opens the file again if it has changed."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _identity(self) -> tuple[int, int]:
        return self.place.device, self.place.inode

    def _descriptor(self) -> int:
        if self._handle is None:
            raise ValueError(f"{self.path} is not open")
        return self._handle

    def _left(self) -> int:
        size = os.fstat(self._descriptor()).st_size
        if size != self._size:
            self._size, self._changed_s = size, time.monotonic()
        if size < self.place.offset or (size > self.place.offset and not self._same_head()):
            self.cuts += 1
            self._begin_generation(os.fstat(self._descriptor()))
        return size - self.place.offset

    def _same_head(self) -> bool:
        head = bytes.fromhex(self.place.head)
        return os.pread(self._descriptor(), len(head), 0) == head

    def _open(self) -> bool:
        """Open the file that `place` speaks of, or its successor; False if there is nothing new."""
        try:
            now = self.path.stat()
        except OSError:
            return False
        known = self.place.inode != 0
        same = (now.st_dev, now.st_ino) == self._identity()
        if same and now.st_size == self.place.offset:
            return False
        if known and not same and (older := self._sibling()) is not None:
            self._handle = os.open(older, os.O_RDONLY)
            if os.fstat(self._handle).st_size > self.place.offset and self._same_head():
                return True
            self.close()
        try:
            self._handle = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            self.unreadable = f"{self.path}: {error.strerror}"
            return False
        self.unreadable = ""
        if not known or not same:
            self._begin_generation(os.fstat(self._handle), first=not known)
        return True

    def _begin_generation(self, now: os.stat_result, *, first: bool = False) -> None:
        number = 0 if first else self.place.generation + 1
        self.place = Place(now.st_dev, now.st_ino, number)

    def _sibling(self) -> Path | None:
        """Where a rotation has put the file (`stdout.log` -> `stdout.log.1`)."""
        try:
            with os.scandir(self.path.parent) as entries:
                for entry in entries:
                    if entry.inode() == self.place.inode and entry.is_file():
                        return Path(entry.path)
        except OSError:
            return None
        return None
