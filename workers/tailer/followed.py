"""One growing file and how far it has been handed over: growth, truncation, rotation."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

from workers.tailer.openfiles import FILES

log = logging.getLogger(__name__)
HEAD_BYTES = 64
CLOSE_AFTER_S = 30.0
QUIET_SHARE, LONGEST_PAUSE_S = 0.05, 2.0
"""A file is looked at again after that share of the time it was silent: thousands of silent files
cost next to nothing, and the last words of a process are two seconds late at most."""
_STALE = {errno.ESTALE, errno.EIO, errno.ENXIO, errno.EBADF, errno.ETIMEDOUT}
_COMPRESSED = (".gz", ".zst", ".xz", ".bz2", ".lz4", ".tmp")
_GONE = {errno.ENOENT, errno.ENOTDIR}


@dataclass(frozen=True, slots=True)
class Place:
    """How far a file has been handed over, kept durably.

    generation: counts truncations and rotations of this path. offset: of the next byte, inside
    the generation. head: hex of the first bytes already handed over; tells a file that was
    emptied and has grown again from one that only grew; of a file that is rewritten, a digest of
    the rows handed over. records: records or rows so far. marks: of a file that is rewritten,
    earlier states as "rows:digest", oldest first. begins: of such a file, number of the first row
    of this generation. attempt: of the start that wrote this generation, if one process wrote it
    all and it was settled. carry: what the log lines before `offset` leave open
    (apps/logs/domain/reading/carry.py), of a file that has been read from its start.
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
    carry: bytes = b""


class FollowedFile:
    """Reads one path from `place` on; `place` moves with advance().

    A rotated file is read to its end before its successor: through the open handle, or after a
    restart by its inode in the same folder. What a truncation removed unread is lost and counted
    in `cuts`, and so is what was removed before it was read. unreadable: why the file cannot be
    opened or read now, "" if it can; it is tried again. stale: how often a handle stopped working
    (a file server that was away) and was opened again.
    """

    def __init__(self, path: Path, place: Place | None = None) -> None:
        self.path = path
        self.place = place or Place()
        self.cuts = 0
        self.unreadable = ""
        self.stale = 0
        self._next_look_s = 0.0
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
        """Bytes that can be read now; notices truncation and rotation.

        0 for a file that cannot be looked at: `unreadable` says why.
        """
        if time.monotonic() < self._next_look_s:
            return 0
        try:
            left = self._look()
        except OSError as error:
            self.failed(error)
            left = 0
        if left == 0:
            pause_s = min(self.quiet_s() * QUIET_SHARE, LONGEST_PAUSE_S)
            self._next_look_s = time.monotonic() + pause_s
        return left

    def hurry(self) -> None:
        """Look again now, however long the file was silent."""
        self._next_look_s = 0.0

    def failed(self, error: OSError) -> None:
        """A handle that cannot be used any more is given back; the next look opens the file."""
        said = f"{self.path}: {error.strerror}"
        if said != self.unreadable:
            log.warning("%s (it is tried again)", said)
        self.unreadable = said
        self.stale += error.errno in _STALE and self._handle is not None
        self.close()

    def _look(self) -> int:
        if self._handle is None and not self._open():
            return 0
        FILES.used(self)
        left = self._left()
        self.unreadable = ""
        if left == 0 and self.superseded():
            self.close()
            return self._look()
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

    def leave(self, carry: bytes) -> None:
        """Keep what the lines that are handed over leave open."""
        self.place = replace(self.place, carry=carry)

    def superseded(self) -> bool:
        """Whether the path now names another file that has content: this one will not grow."""
        now = _stat(self.path)
        if now is None:
            return False
        return (now.st_dev, now.st_ino) != self._identity() and now.st_size > 0

    def close(self) -> None:
        """Give the handle back; the next available() opens the file again if it has changed."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            FILES.closed(self)
            with contextlib.suppress(OSError):
                os.close(handle)

    def _identity(self) -> tuple[int, int]:
        return self.place.device, self.place.inode

    def _descriptor(self) -> int:
        """The handle; opened again if others needed its place."""
        if self._handle is None:
            same = self._identity_of(self.path) == self._identity()
            path = self.path if same else self._sibling()
            if path is None:
                raise OSError(errno.ESTALE, "was replaced while it was read")
            self._handle = os.open(path, os.O_RDONLY)
            FILES.used(self)
        return self._handle

    @staticmethod
    def _identity_of(path: Path) -> tuple[int, int] | None:
        now = _stat(path)
        return None if now is None else (now.st_dev, now.st_ino)

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
        now = _stat(self.path)
        if now is None:
            return False
        known = self.place.inode != 0
        same = (now.st_dev, now.st_ino) == self._identity()
        if same and now.st_size == self.place.offset:
            self.unreadable = ""
            return False
        if known and not same and self._open_sibling():
            return True
        self._handle = os.open(self.path if same else self._successor(), os.O_RDONLY)
        if not known or not same:
            self._begin_generation(os.fstat(self._handle), first=not known)
        return True

    def _open_sibling(self) -> bool:
        """Open the file that was renamed, if it has more to read."""
        older = self._sibling()
        if older is None:
            self.cuts += self._size > self.place.offset
            return False
        self._handle = os.open(older, os.O_RDONLY)
        if os.fstat(self._handle).st_size > self.place.offset and self._same_head():
            return True
        self.close()
        return False

    def _successor(self) -> Path:
        """What was written after the file that was read: the path itself, or an older rotation of
        it, if it was rotated more than once meanwhile."""
        before = self._sibling()
        if before is None:
            return self.path
        done, now = before.stat(), _stat(self.path)
        skip = {self.place.inode, now.st_ino if now is not None else 0}
        later = [
            (found.st_mtime_ns, path)
            for path, found in rotations(self.path.resolve())
            if found.st_ino not in skip and found.st_mtime_ns >= done.st_mtime_ns and found.st_size
        ]
        return min(later)[1] if later else self.path

    def _begin_generation(self, now: os.stat_result, *, first: bool = False) -> None:
        number = 0 if first else self.place.generation + 1
        self.place = Place(now.st_dev, now.st_ino, number)

    def _sibling(self) -> Path | None:
        """Where a rotation has put the file (`stdout.log` -> `stdout.log.1`)."""
        try:
            with os.scandir(self.path.resolve().parent) as entries:
                for entry in entries:
                    if entry.inode() == self.place.inode and entry.is_file():
                        return Path(entry.path)
        except OSError:
            return None
        return None


def _stat(path: Path) -> os.stat_result | None:
    """What a path names; None if there is nothing. Raises OSError for other reasons."""
    try:
        return path.stat()
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise


def rotations(path: Path) -> list[tuple[Path, os.stat_result]]:
    """Files beside `path` that are named like rotations of it (`x.log.1`, `0.log.20261129-194603`)
    and are not compressed."""
    rotated = re.compile(re.escape(path.name) + r"[.-](?=[\w.-]*\d)[\w.-]+")
    found = []
    with os.scandir(path.parent) as entries:
        for entry in entries:
            fits = rotated.fullmatch(entry.name) and not entry.name.endswith(_COMPRESSED)
            if fits and entry.is_file():
                found.append((Path(entry.path), entry.stat()))
    return found
