"""The framing of a `.wandb` file: bytes -> protobuf records, from any offset, also while it grows.

A file is a 7-byte header, then a log in blocks of 32,768 bytes (the header lies in block 0).
A chunk = crc32 (plain IEEE, over type byte + data) + uint16 length, both little endian + type
(1 whole record, 2 first part, 3 middle, 4 last) + data. Less than 7 bytes left in a block is
padding. A writer flushes whole blocks, so the tail of a live file often ends inside a record.
Source: files written by wandb 0.16.6 and 0.31.0.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from typing import NamedTuple

from apps.core.errors import BadPayload

HEADER = b":W&B\xe1\xbe\x00"
BLOCK_BYTES = 32_768
CHUNK_HEADER_BYTES = 7
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
_CHUNK = struct.Struct("<IHB")


class WireRead(NamedTuple):
    """records: protobuf payloads in file order. next_offset: file position to go on from.

    problems: one text per damaged place. ends: file position behind each record.
    """

    records: list[bytes]
    next_offset: int
    problems: list[str]
    ends: list[int]


@dataclass(slots=True)
class _Reader:
    """State of one pass; positions are positions in the file, `base` is that of data[0]."""

    data: bytes
    base: int
    final: bool
    position: int
    resume: int
    parts: list[bytes] = field(default_factory=list)
    records: list[bytes] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        return self.base + len(self.data)


def read_records(
    data: bytes, offset: int = 0, *, final: bool = False, most_bytes: int | None = None
) -> WireRead:
    """The records of `data`, the bytes of a `.wandb` file from position `offset` on.

    offset: 0, or the next_offset of an earlier call. Stops before an incomplete tail, which is
    read again by the next call; with `final` the file will not grow and such a tail is a problem.
    A chunk with a wrong checksum or length costs the rest of its block: reading goes on with the
    next one, and the place is named in `problems`. Raises BadPayload if the file is not a `.wandb`
    file. most_bytes: stop behind the first record that ends so far or further from `offset`.
    """
    start = offset
    if offset == 0:
        if len(data) < len(HEADER) and HEADER.startswith(data):
            return WireRead([], 0, _cut_header(data, final=final), [])
        if data[:4] != HEADER[:4]:
            raise BadPayload(
                f"starts with {data[:7]!r}, not with {HEADER!r}",
                hint="send a file that `wandb` wrote in offline mode (run-*.wandb)",
                where="byte 0",
            )
        start = len(HEADER)
    reader = _Reader(data, offset, final, start, start)
    if start and not offset and data[:7] != HEADER:
        reader.problems.append(f"byte 4: unknown file version {data[4:7].hex()}, read as e1be00")
    stop = reader.size if most_bytes is None else offset + most_bytes
    while True:
        _whole_records(reader, stop)
        if (reader.records and reader.resume >= stop) or not _next_chunk(reader):
            break
    return WireRead(reader.records, reader.resume, reader.problems, reader.ends)


def _cut_header(data: bytes, *, final: bool) -> list[str]:
    return [f"byte 0: the file ends inside its header ({len(data)} bytes)"] if final else []


def _whole_records(reader: _Reader, stop: int) -> None:
    """Read records of one chunk each while nothing is odd: four times as fast as one by one."""
    if reader.parts:
        return
    data, view, size, base = reader.data, memoryview(reader.data), len(reader.data), reader.base
    at = reader.position - base
    while at + base < stop and at + CHUNK_HEADER_BYTES <= size:
        left = BLOCK_BYTES - (at + base) % BLOCK_BYTES
        if left < CHUNK_HEADER_BYTES:
            break
        crc, length, kind = _CHUNK.unpack_from(data, at)
        end = at + CHUNK_HEADER_BYTES + length
        if kind != FULL or end > size or end - at > left or zlib.crc32(view[at + 6 : end]) != crc:
            break
        reader.records.append(data[at + CHUNK_HEADER_BYTES : end])
        reader.ends.append(end + base)
        at = end
    reader.position = reader.resume = at + base


def _next_chunk(reader: _Reader) -> bool:
    """Read one chunk; False when nothing more can be read."""
    left = BLOCK_BYTES - reader.position % BLOCK_BYTES
    available = reader.size - reader.position
    if left < CHUNK_HEADER_BYTES:
        if available < left:
            return False
        _advance(reader, left)
        return True
    if available < CHUNK_HEADER_BYTES:
        return _tail(reader)
    start = reader.position - reader.base
    crc, length, kind = _CHUNK.unpack_from(reader.data, start)
    end = start + CHUNK_HEADER_BYTES + length
    fits = CHUNK_HEADER_BYTES + length <= left
    if fits and end > len(reader.data):
        return _tail(reader)
    if not fits or zlib.crc32(reader.data[start + 6 : end]) != crc:
        what = "wrong checksum" if fits else f"length {length} goes beyond the block"
        return _skip_block(reader, left, available, what)
    _take(reader, kind, reader.data[start + CHUNK_HEADER_BYTES : end])
    return True


def _tail(reader: _Reader) -> bool:
    """The data end inside a chunk: wait for more, unless the file is final."""
    rest = reader.size - reader.resume
    if reader.final and rest:
        reader.problems.append(
            f"byte {reader.resume}: the file ends inside a record ({rest} bytes left unread)"
        )
    return False


def _skip_block(reader: _Reader, left: int, available: int, what: str) -> bool:
    """Leave the damaged block. While it is still being written, wait for the whole of it."""
    if available < left and not reader.final:
        return False
    skipped = min(left, available)
    if any(reader.data[reader.position - reader.base :][:skipped]):
        reader.problems.append(f"byte {reader.position}: {what}, {skipped} bytes skipped")
    _drop_parts(reader)
    _advance(reader, skipped)
    return True


def _take(reader: _Reader, kind: int, piece: bytes) -> None:
    """Add one good chunk to the record it belongs to."""
    place, size = reader.position, CHUNK_HEADER_BYTES + len(piece)
    if kind in (FULL, FIRST):
        _drop_parts(reader)
    elif kind not in (MIDDLE, LAST) or not reader.parts:
        reader.problems.append(f"byte {place}: chunk of type {kind} without a start, skipped")
        _advance(reader, size)
        return
    reader.parts.append(piece)
    reader.position += size
    if kind in (FULL, LAST):
        reader.records.append(b"".join(reader.parts))
        reader.ends.append(reader.position)
        reader.parts.clear()
        reader.resume = reader.position


def _drop_parts(reader: _Reader) -> None:
    if reader.parts:
        reader.problems.append(f"byte {reader.resume}: a record without an end, skipped")
        reader.parts.clear()
        reader.resume = reader.position


def _advance(reader: _Reader, size: int) -> None:
    """Move on; a record in progress keeps its start as the place to resume from."""
    reader.position += size
    if not reader.parts:
        reader.resume = reader.position
