"""The framing of a TensorBoard event file: bytes -> records, from any offset, also while it grows.

A record = uint64 length + masked crc32c of it + data + masked crc32c of the data, all little
endian (TensorFlow's record_writer.cc). A writer may be cut anywhere.
"""

from __future__ import annotations

import struct

import google_crc32c

from apps.core.errors import BadPayload
from apps.ingest.wandb.wire import WireRead

HEAD_BYTES, FOOT_BYTES = 12, 4
MAX_RECORD_BYTES = 1 << 20
"""A larger record (a graph, a picture) holds no numbers for us and is read as an empty one."""
_HEAD = struct.Struct("<QI")
_FOOT = struct.Struct("<I")
_SEARCH_BYTES = 1 << 20


def masked_crc(data: bytes) -> int:
    """The checksum of TFRecord files."""
    crc: int = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def record_bytes(data: bytes, at: int = 0) -> int | None:
    """Length of the record whose head is at `at`, with head and foot; None if none is there."""
    length, crc = _HEAD.unpack_from(data, at)
    if masked_crc(data[at : at + 8]) != crc:
        return None
    return int(length) + HEAD_BYTES + FOOT_BYTES


def read_records(data: bytes, offset: int = 0, *, final: bool = False) -> WireRead:
    """The records of `data`, the bytes of an event file from position `offset` on.

    offset: 0, or the next_offset of an earlier call. Stops before an incomplete tail, which is
    read again by the next call; with `final` the file will not grow and such a tail is a problem.
    A damaged or very large record becomes an empty one, so that records keep their numbers; after
    a damaged length the next readable one is looked for. Raises BadPayload if the file is no event
    file. About 500,000 records per CPU second.
    """
    records: list[bytes] = []
    ends: list[int] = []
    problems: list[str] = []
    at = 0
    while len(data) - at >= HEAD_BYTES:
        size = record_bytes(data, at)
        if size is None:
            if offset + at == 0:
                raise BadPayload("does not begin with a record", where="byte 0", hint=_HINT)
            found = _next_head(data, at + 1, final=final)
            if found is None:
                break
            problems.append(f"byte {offset + at}: wrong length, {found - at} bytes skipped")
            at = found
            records.append(b"")
        elif at + size > len(data):
            break
        else:
            records.append(_payload(data, at, size, problems, offset))
            at += size
        ends.append(offset + at)
    if final and at < len(data):
        rest = len(data) - at
        problems.append(f"byte {offset + at}: the file ends inside a record ({rest} bytes)")
    return WireRead(records, offset + at, problems, ends)


_HINT = "send a file that a TensorBoard writer wrote (events.out.tfevents.*)"


def _payload(data: bytes, at: int, size: int, problems: list[str], offset: int) -> bytes:
    end = at + size - FOOT_BYTES
    if size > MAX_RECORD_BYTES:
        return b""
    payload = data[at + HEAD_BYTES : end]
    if masked_crc(payload) != _FOOT.unpack_from(data, end)[0]:
        problems.append(f"byte {offset + at}: wrong checksum, {size} bytes skipped")
        return b""
    return payload


def _next_head(data: bytes, start: int, *, final: bool) -> int | None:
    """Where the next readable length stands; None to wait for more of the file.

    Lengths below 4 GiB have four zero bytes in the middle, which makes the search fast.
    """
    at = data.find(b"\0\0\0\0", start + 4)
    while at >= 0 and at + 8 <= len(data):
        if record_bytes(data, at - 4) is not None:
            return at - 4
        at = data.find(b"\0\0\0\0", at + 1)
    if final or len(data) - start > _SEARCH_BYTES:
        return len(data) if final else len(data) - HEAD_BYTES
    return None
