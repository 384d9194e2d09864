"""The checksums that zip archives carry: of torch.save files, and of shards made of many of them.

Each entry of an archive has a CRC-32 in the directory at its end. A shard of a distributed
checkpoint is one archive behind the other. Pure: bytes come from a function.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MAX_DIRECTORY_BYTES: Final = 64 * 1024 * 1024
MAX_ENTRIES: Final = 500_000
TAIL_BYTES: Final = 64 * 1024
_HEADER: Final = struct.Struct("<4s22xHH")
"""Of an entry: magic, 22 bytes that the directory repeats, length of name and of extra field."""

Read = Callable[[int, int], bytes]
"""(start, length) -> those bytes of a file, fewer at its end."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored entry. at: where its own header begins. size: of its content."""

    name: str
    at: int
    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class Sums:
    """What a file says of itself. whole: its archives cover it from the first byte to the last, and
    every entry is stored as it is."""

    entries: tuple[Entry, ...]
    whole: bool


def sums(read: Read, size: int, most_archives: int = MAX_ENTRIES) -> Sums:
    """The entries of all archives in a file, by place; none for what is no archive, or for more
    than `most_archives` of them.

    Reads the directories only, from the end to the beginning: about one read of TAIL_BYTES for each
    archive. Raises what `read` raises.
    """
    found: list[Entry] = []
    end, plain, archives = size, True, 0
    while end > 0 and len(found) < MAX_ENTRIES:
        archives += 1
        if archives > most_archives:
            return Sums((), whole=False)
        entries = _last_archive(read, end)
        if not entries:
            break
        plain = plain and all(e.compress_type == zipfile.ZIP_STORED for e in entries)
        found += [Entry(e.filename, e.header_offset, e.file_size, e.CRC) for e in entries]
        end = min(e.header_offset for e in entries)
    ordered = tuple(sorted(found, key=lambda entry: entry.at))
    return Sums(ordered, whole=plain and end == 0 and bool(found))


class Summing:
    """The checksums of entries, computed while the file passes by once, from its beginning."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.bad: list[str] = []
        self._left = iter(entries)
        self._entry = next(self._left, None)
        self._held = b""
        self._at = 0
        self._crc = 0
        self._todo = -1

    def feed(self, data: bytes) -> None:
        """The next bytes of the file."""
        view = memoryview(data)
        while view and self._entry is not None:
            view = self._content(view) if self._todo >= 0 else self._header(view, self._entry)
        self._at += len(view)

    def end(self) -> tuple[str, ...]:
        """Names of the entries whose content is another than their checksum says, or missing."""
        if self._entry is not None:
            self.bad.append(self._entry.name)
            self.bad += [entry.name for entry in self._left]
            self._entry = None
        return tuple(self.bad)

    def _header(self, view: memoryview, entry: Entry) -> memoryview:
        """Passes bytes until the content of the entry begins."""
        skip = min(len(view), max(0, entry.at - self._at))
        self._at += skip
        view = view[skip:]
        take = min(len(view), _HEADER.size - len(self._held)) if view else 0
        self._held += bytes(view[:take])
        self._at += take
        if len(self._held) == _HEADER.size and self._todo == -1:
            magic, name, extra = _HEADER.unpack(self._held)
            self._held = b""
            if magic != b"PK\x03\x04":
                self._next(ok=False)
                return view[take:]
            self._todo, self._skip = entry.size, name + extra
            self._crc = 0
        return view[take:]

    def _content(self, view: memoryview) -> memoryview:
        skip = min(len(view), self._skip)
        self._skip -= skip
        part = view[skip : skip + self._todo]
        self._crc = zlib.crc32(part, self._crc)
        self._todo -= len(part)
        self._at += skip + len(part)
        if self._todo == 0 and not self._skip and self._entry is not None:
            self._next(ok=self._crc == self._entry.crc)
        return view[skip + len(part) :]

    def _next(self, *, ok: bool) -> None:
        if not ok and self._entry is not None:
            self.bad.append(self._entry.name)
        self._entry = next(self._left, None)
        self._todo = -1


def _last_archive(read: Read, end: int) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(_Window(read, end)) as archive:
            return archive.infolist()
    except (zipfile.BadZipFile, _TooLarge, ValueError, struct.error, NotImplementedError):
        return []


class _TooLarge(Exception):
    """A directory beyond what is believed."""


class _Window(io.RawIOBase):
    """The first `end` bytes of a file, as zipfile reads it."""

    def __init__(self, read: Read, end: int) -> None:
        super().__init__()
        self._read = read
        self._end = end
        self._at = 0
        self._tail_at = max(0, end - TAIL_BYTES)
        self._tail = b""

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        base = (0, self._at, self._end)[whence]
        if base + offset < 0:
            raise ValueError("before the beginning")
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._end - self._at)
        length = left if size < 0 else min(size, left)
        if length > MAX_DIRECTORY_BYTES:
            raise _TooLarge
        data = self._bytes(length)
        self._at += len(data)
        return data

    def _bytes(self, length: int) -> bytes:
        """What zipfile wants lies at the end nearly always: that is read once."""
        if self._at < self._tail_at:
            return self._read(self._at, length)
        if not self._tail:
            self._tail = self._read(self._tail_at, self._end - self._tail_at)
        start = self._at - self._tail_at
        return self._tail[start : start + length]
