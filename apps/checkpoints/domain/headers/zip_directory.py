"""The directory at the end of a zip file, as torch.save writes it.

Source: the zip format (APPNOTE 6.3), with the 64-bit records that files above 4 GiB have.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from apps.checkpoints.domain.codes import Code
from apps.checkpoints.domain.headers.base import Problem

TAIL_BYTES = 65_536 + 22 + 20 + 56
"""A comment of full length and the end records before it."""
START = b"PK\x03\x04"
_END, _ENTRY = b"PK\x05\x06", b"PK\x01\x02"
_LOCATOR, _END64 = b"PK\x06\x07", b"PK\x06\x06"
_END_FIELDS = struct.Struct("<4s4H2LH")
_LOCATOR_FIELDS = struct.Struct("<4sLQL")
_END64_FIELDS = struct.Struct("<4sQ2H2L4Q")
_ENTRY_FIELDS = struct.Struct("<4s6H3L5H2L")
LOCAL_BYTES = 30
_FULL32, _FULL16 = 0xFFFFFFFF, 0xFFFF


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in the zip. offset: of its local header; stored and size: bytes before and after it is
    unpacked; method: 0 stored, 8 deflated."""

    name: str
    offset: int
    stored: int
    size: int
    crc: int
    method: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where the directory is. extra: bytes after the end of the zip."""

    offset: int
    length: int
    entries: int
    extra: int


def place_of(tail: bytes, size: int) -> Place:
    """Where a file of `size` bytes, whose last bytes are `tail`, has its directory.

    Raises Problem: TRUNCATED without an end record, BAD_HEADER with one that cannot be right.
    """
    at = _end_record(tail)
    if at is None:
        raise Problem(Code.TRUNCATED, "without the end of a zip: cut, or not written to its end")
    _, _, _, _, entries, length, offset, comment = _END_FIELDS.unpack_from(tail, at)
    start = size - len(tail)
    extra = len(tail) - (at + _END_FIELDS.size + comment)
    end = start + at
    if offset == _FULL32 or length == _FULL32 or entries == _FULL16:
        entries, length, offset, end = _wide(tail, at, start)
    if offset + length > end:
        raise Problem(Code.BAD_HEADER, "with an end record that points beyond it")
    return Place(offset, length, entries, extra)


def _end_record(tail: bytes) -> int | None:
    """Where the end record is: the last one whose comment fits."""
    at = tail.rfind(_END)
    while at >= 0:
        if at + _END_FIELDS.size <= len(tail):
            comment = _END_FIELDS.unpack_from(tail, at)[-1]
            if at + _END_FIELDS.size + comment <= len(tail):
                return at
        at = tail.rfind(_END, 0, at)
    return None


def _wide(tail: bytes, at: int, start: int) -> tuple[int, int, int, int]:
    """(entries, length, offset, end) from the 64-bit record that a locator before `at` names."""
    locator = at - _LOCATOR_FIELDS.size
    if locator < 0 or tail[locator : locator + 4] != _LOCATOR:
        raise Problem(Code.BAD_HEADER, "without the 64-bit end record that it needs")
    record = int(_LOCATOR_FIELDS.unpack_from(tail, locator)[2]) - start
    if not 0 <= record <= locator - _END64_FIELDS.size or tail[record : record + 4] != _END64:
        raise Problem(Code.BAD_HEADER, "without the 64-bit end record that it needs")
    fields = _END64_FIELDS.unpack_from(tail, record)
    return fields[7], fields[8], fields[9], start + record


def entries_of(directory: bytes, place: Place) -> dict[str, Entry]:
    """Name -> entry. Raises Problem with BAD_HEADER."""
    found: dict[str, Entry] = {}
    at = 0
    try:
        for _ in range(place.entries):
            entry, at = _entry(directory, at)
            found[entry.name] = entry
    except (struct.error, IndexError, ValueError) as error:
        raise Problem(Code.BAD_HEADER, "with a directory that cannot be parsed") from error
    if at > place.length:
        raise Problem(Code.BAD_HEADER, "with a directory that is longer than it says")
    if any(e.offset + LOCAL_BYTES + e.stored > place.offset for e in found.values()):
        raise Problem(Code.BAD_HEADER, "with entries that reach beyond its directory")
    return found


def _entry(directory: bytes, at: int) -> tuple[Entry, int]:
    fields = _ENTRY_FIELDS.unpack_from(directory, at)
    if fields[0] != _ENTRY:
        raise ValueError("not an entry")
    method, crc, stored, size = fields[4], fields[7], fields[8], fields[9]
    name_length, extra_length, comment_length, offset = (
        fields[10],
        fields[11],
        fields[12],
        fields[16],
    )
    name_at = at + _ENTRY_FIELDS.size
    extra_at = name_at + name_length
    end = extra_at + extra_length + comment_length
    if end > len(directory):
        raise IndexError("cut")
    name = directory[name_at:extra_at].decode("utf-8", "replace")
    wide = _wide_numbers(directory[extra_at : extra_at + extra_length])
    numbers = [wide() if value == _FULL32 else value for value in (size, stored, offset)]
    return Entry(name, numbers[2], numbers[1], numbers[0], crc, method), end


def _wide_numbers(extra: bytes) -> Callable[[], int]:
    """Gives the 64-bit numbers of an entry, in their order."""
    at, body = 0, b""
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            body = extra[at + 4 : at + 4 + length]
        at += 4 + length
    numbers = iter([int(n) for (n,) in struct.iter_unpack("<Q", body[: len(body) // 8 * 8])])

    def following() -> int:
        number = next(numbers, None)
        if number is None:
            raise ValueError("a 64-bit number is missing")
        return number

    return following
