"""Chunks of version 1, which are read and no longer written.

Layout (little endian): magic `LC`, version u8, reserved u8, payload length u32, then one zstd frame
of the payload: origins length u32, origins (JSON list of [source, channel, local_rank]), line
count u32, then the columns one after the other: time i64 (first value, then differences), seq i64
(difference to the end of the line before), origin u16, rank i32 (-1 = none), severity u8, step i64
(-1 = none), text length u32, then all texts as UTF-8 without separators.

Raises ValueError, struct.error and ZstdError. Plain Python and NumPy.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

VERSION = 1
_HEAD = struct.Struct("<2sBBI")
_U32 = struct.Struct("<I")
_COLUMNS = (
    ("time_ns", np.dtype("<i8")),
    ("seq", np.dtype("<i8")),
    ("origin", np.dtype("<u2")),
    ("rank", np.dtype("<i4")),
    ("severity", np.dtype("u1")),
    ("step", np.dtype("<i8")),
    ("size", np.dtype("<u4")),
)


@dataclass(frozen=True, slots=True)
class OldChunk:
    """origins: JSON. columns: as they stand there. before: bytes from the line before to each.

    text i = texts[text_start[i] : text_start[i + 1]].
    """

    origins: bytes
    columns: dict[str, NDArray[Any]]
    before: NDArray[np.int64]
    text_start: NDArray[np.int64]
    texts: bytes


def read(body: bytes, most_bytes: int, most_lines: int) -> OldChunk:
    """The parts of a chunk."""
    payload = _payload(body, most_bytes)
    (origins_length,) = _U32.unpack_from(payload)
    pos = _U32.size + origins_length
    (count,) = _U32.unpack_from(payload, pos)
    if not 0 < count <= most_lines:
        raise ValueError(f"it claims {count} lines, the cap is {most_lines}")
    origins, at = payload[_U32.size : pos], pos + _U32.size
    columns = {}
    for name, dtype in _COLUMNS:
        columns[name] = np.frombuffer(payload, dtype=dtype, count=count, offset=at)
        at += count * dtype.itemsize
    sizes, texts = columns["size"].astype(np.int64), payload[at:]
    start = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    if int(start[-1]) != len(texts):
        raise ValueError(f"{len(texts)} text bytes, the lengths add to {start[-1]}")
    before = np.concatenate((np.zeros(1, dtype=np.int64), sizes[:-1] + 1))
    return OldChunk(origins, columns, before, start, texts)


def _payload(body: bytes, most_bytes: int) -> bytes:
    _, _, _, length = _HEAD.unpack_from(body)
    if length > most_bytes:
        raise ValueError(f"it claims {length} bytes, the cap is {most_bytes}")
    frame = body[_HEAD.size :]
    size = zstandard.frame_content_size(frame)
    if size != length:  # checked first: zstd would allocate what the frame claims
        raise ValueError(f"it has {size} bytes, its header says {length}")
    return zstandard.ZstdDecompressor().decompress(frame)
