"""A chunk: the log lines of one host's batch as compressed columns.

Layout (little endian): magic `LC`, version u8, reserved u8, payload length u32, then one zstd frame
of the payload: origins length u32, origins (JSON list of [source, channel, local_rank]), line
count u32, then the columns one after the other: time i64 (first value, then differences), seq i64
(difference to the end of the line before), origin u16, rank i32 (-1 = none), severity u8, step i64
(-1 = none), text length u32, then all texts as UTF-8 without separators.

Plain Python and NumPy. decode_chunk() raises BadChunk and nothing else, whatever the bytes are.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from apps.core.errors import AppError
from apps.core.records import LogLine, Severity
from apps.logs.domain import sieve
from apps.logs.domain.table import LineTable

VERSION = 1
MAGIC = b"LC"
LEVEL = 3
MAX_LINES = 1 << 20
MAX_PAYLOAD_BYTES = 64 * 1024 * 1024
MAX_ORIGINS = 1 << 16
NO_RANK = -1
NO_STEP = -1
SEVERITIES = (
    Severity.DEBUG,
    Severity.INFO,
    Severity.WARNING,
    Severity.ERROR,
    Severity.CRITICAL,
)
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

Key = tuple[int, int, int]


class BadChunk(AppError):
    """Stored bytes that are no chunk of a known version."""


class Origin(msgspec.Struct, frozen=True, array_like=True):
    """Where lines come from: file, channel, local rank."""

    source: str
    channel: str
    local_rank: int | None


@dataclass(frozen=True, slots=True)
class ChunkHeader:
    """What is known of a chunk without decompressing it.

    first, last: smallest and largest (time_ns, rank, seq); rank -1 = none. by_severity: lines of
    DEBUG, INFO, WARNING, ERROR, CRITICAL. ranks: ascending, -1 if some line has none.
    text_bytes: UTF-8 bytes of all texts. sieve: which texts can be in it (sieve.py).
    """

    lines: int
    first: Key
    last: Key
    by_severity: tuple[int, ...]
    ranks: tuple[int, ...]
    text_bytes: int
    sieve: bytes = b""


@dataclass(frozen=True, slots=True)
class ChunkLines:
    """A decoded chunk: columns of equal length n, lines grouped by file and in file order.

    time_ns int64, seq int64, origin uint16 (index into origins), rank int32 (-1 = none), severity
    uint8, step int64 (-1 = none); text i = texts[text_start[i] : text_start[i + 1]], UTF-8.
    """

    origins: tuple[Origin, ...]
    time_ns: NDArray[np.int64]
    seq: NDArray[np.int64]
    origin: NDArray[np.uint16]
    rank: NDArray[np.int32]
    severity: NDArray[np.uint8]
    step: NDArray[np.int64]
    text_start: NDArray[np.int64]
    texts: bytes

    def __len__(self) -> int:
        return len(self.seq)

    def text(self, number: int) -> str:
        """Text of one line."""
        start, end = int(self.text_start[number]), int(self.text_start[number + 1])
        return self.texts[start:end].decode("utf-8", "replace")

    def line(self, number: int) -> LogLine:
        """One line as a record."""
        origin = self.origins[int(self.origin[number])]
        rank, step = int(self.rank[number]), int(self.step[number])
        return LogLine(
            time_ns=int(self.time_ns[number]),
            seq=int(self.seq[number]),
            source=origin.source,
            channel=origin.channel,
            local_rank=origin.local_rank,
            rank=None if rank == NO_RANK else rank,
            severity=int(self.severity[number]),
            step=None if step == NO_STEP else step,
            text=self.text(number),
        )

    def containing(self, needle: bytes) -> NDArray[np.bool_]:
        """Which lines contain `needle`: one search over all texts. O(bytes + hits)."""
        hit = np.zeros(len(self), dtype=np.bool_)
        at = self.texts.find(needle)
        while at >= 0:
            number = int(np.searchsorted(self.text_start, at, side="right")) - 1
            end = int(self.text_start[number + 1])
            hit[number] = hit[number] or at + len(needle) <= end
            at = self.texts.find(needle, at + 1 if not hit[number] else end)
        return hit


def encode_chunk(tables: Sequence[LineTable], *, level: int = LEVEL) -> tuple[ChunkHeader, bytes]:
    """Header and bytes of one chunk. Raises ValueError if there is no line or more than MAX_LINES.

    level: of zstd. Cost: about 1 microsecond a line.
    """
    count = sum(len(table) for table in tables)
    if not 0 < count <= MAX_LINES:
        raise ValueError(f"a chunk holds 1 to {MAX_LINES} lines, not {count}")
    origins, columns, texts = _columns(tables)
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=count)
    header = replace(_header(columns, int(sizes.sum())), sieve=sieve.build(b"\n".join(texts)))
    coded = {
        "time_ns": np.diff(columns["time_ns"], prepend=0),
        "seq": _seq_residual(columns["seq"], columns["origin"], sizes),
        "size": sizes,
    }
    origin_bytes = msgspec.json.encode(origins)
    parts = [_U32.pack(len(origin_bytes)), origin_bytes, _U32.pack(count)]
    for name, dtype in _COLUMNS:
        parts.append(coded.get(name, columns.get(name)).astype(dtype).tobytes())  # type: ignore[union-attr]
    payload = b"".join((*parts, *texts))
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise ValueError(f"a chunk holds at most {MAX_PAYLOAD_BYTES} bytes, not {len(payload)}")
    frame = zstandard.ZstdCompressor(level=level).compress(payload)
    return header, _HEAD.pack(MAGIC, VERSION, 0, len(payload)) + frame


def _columns(
    tables: Sequence[LineTable],
) -> tuple[list[Origin], dict[str, NDArray[Any]], list[bytes]]:
    origins: dict[tuple[str, str, int | None], int] = {}
    origin: list[int] = []
    for table in tables:
        for pair in zip(table.channel, table.local_rank, strict=True):
            origin.append(origins.setdefault((table.source, *pair), len(origins)))
    if len(origins) > MAX_ORIGINS:
        raise ValueError(f"a chunk holds lines of at most {MAX_ORIGINS} origins")
    columns: dict[str, NDArray[Any]] = {
        "time_ns": _int64([t for table in tables for t in table.time_ns]),
        "seq": _int64([s for table in tables for s in table.seq]),
        "origin": _int64(origin),
        "rank": _int64([NO_RANK if r is None else r for table in tables for r in table.rank]),
        "severity": _int64([s for table in tables for s in table.severity]),
        "step": _int64([NO_STEP if s is None else s for table in tables for s in table.step]),
    }
    texts = [t.encode("utf-8", "replace") for table in tables for t in table.text]
    return [Origin(*key) for key in origins], columns, texts


def _int64(values: Sequence[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def _seq_residual(
    seq: NDArray[np.int64], origin: NDArray[Any], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """seq minus its guess: the end of the line before. 0 for whole lines of one file."""
    guess = np.zeros_like(seq)
    guess[1:] = seq[:-1] + sizes[:-1] + 1
    return seq - guess


def _header(columns: dict[str, NDArray[Any]], text_bytes: int) -> ChunkHeader:
    time_ns, rank, seq = columns["time_ns"], columns["rank"], columns["seq"]
    order = np.lexsort((seq, rank, time_ns))
    first, last = int(order[0]), int(order[-1])
    counts = np.bincount(columns["severity"].astype(np.int64), minlength=256)
    return ChunkHeader(
        lines=len(seq),
        first=(int(time_ns[first]), int(rank[first]), int(seq[first])),
        last=(int(time_ns[last]), int(rank[last]), int(seq[last])),
        by_severity=tuple(int(counts[level]) for level in SEVERITIES),
        ranks=tuple(int(r) for r in np.unique(rank)),
        text_bytes=text_bytes,
    )


def decode_chunk(body: bytes) -> ChunkLines:
    """The columns of one chunk. Raises BadChunk for anything that encode_chunk() did not write."""
    try:
        return _decode(bytes(body))
    except BadChunk:
        raise
    except (ValueError, struct.error, zstandard.ZstdError, msgspec.MsgspecError) as error:
        raise BadChunk(
            f"log chunk cannot be read: {error}", hint="the stored bytes are damaged"
        ) from error


def _decode(body: bytes) -> ChunkLines:
    magic, version, _, length = _HEAD.unpack_from(body)
    if magic != MAGIC or version != VERSION:
        raise BadChunk(
            f"log chunk has magic {magic!r} and version {version}, known is {MAGIC!r} {VERSION}",
            hint="it was written by a newer version; upgrade this process",
        )
    if length > MAX_PAYLOAD_BYTES:
        raise BadChunk(f"log chunk claims {length} bytes, the cap is {MAX_PAYLOAD_BYTES}")
    frame = body[_HEAD.size :]
    size = zstandard.frame_content_size(frame)
    if size != length:  # checked first: zstd would allocate what the frame claims
        raise BadChunk(f"log chunk has {size} bytes, its header says {length}")
    payload = zstandard.ZstdDecompressor().decompress(frame)
    (origins_length,) = _U32.unpack_from(payload)
    pos = _U32.size + origins_length
    origins = msgspec.json.decode(payload[_U32.size : pos], type=tuple[Origin, ...])
    (count,) = _U32.unpack_from(payload, pos)
    if not 0 < count <= MAX_LINES:
        raise BadChunk(f"log chunk claims {count} lines, the cap is {MAX_LINES}")
    columns, pos = _read_columns(payload, pos + _U32.size, count)
    return _checked(origins, columns, payload[pos:])


def _read_columns(payload: bytes, pos: int, count: int) -> tuple[dict[str, NDArray[Any]], int]:
    columns = {}
    for name, dtype in _COLUMNS:
        columns[name] = np.frombuffer(payload, dtype=dtype, count=count, offset=pos)
        pos += count * dtype.itemsize
    return columns, pos


def _checked(
    origins: tuple[Origin, ...], columns: dict[str, NDArray[Any]], texts: bytes
) -> ChunkLines:
    sizes = columns["size"].astype(np.int64)
    text_start = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    if int(text_start[-1]) != len(texts):
        raise BadChunk(
            f"log chunk has {len(texts)} text bytes, its lengths add to {text_start[-1]}"
        )
    if int(columns["origin"].max()) >= len(origins):
        raise BadChunk("log chunk names an origin that it does not list")
    step_before = np.concatenate((np.zeros(1, dtype=np.int64), sizes[:-1] + 1))
    return ChunkLines(
        origins=origins,
        time_ns=np.cumsum(columns["time_ns"].astype(np.int64)),
        seq=np.cumsum(columns["seq"].astype(np.int64) + step_before),
        origin=columns["origin"].astype(np.uint16),
        rank=columns["rank"].astype(np.int32),
        severity=columns["severity"].astype(np.uint8),
        step=columns["step"].astype(np.int64),
        text_start=text_start,
        texts=texts,
    )
