"""A chunk: the log lines of one host's batch as compressed columns.

Layout of version 2 (little endian): magic `LC`, version u8, number of sections u8, of each section
its name u8, its length u32 and its length before compression u32, then the sections as zstd frames.

- COLUMNS: origins length u32, origins (JSON list of [source, channel, local_rank]), line count u32,
  then time, seq, origin, rank, severity, whether there is a step, the steps (intcolumns.py). Time
  is the difference to the line before, in units of a factor; seq the difference to the end of the
  line before; a step the difference to the step before.
- SHAPES: the shapes of the texts (shapes.py). LINES: the shape of each line. DIGITS: what the
  shapes leave open (chunktexts.py).
- ORIGINALS: bytes of lines whose text is not what stood in the file.

Plain Python and NumPy. decode_chunk() raises BadChunk and nothing else, whatever the bytes are; so
do the texts of a chunk, which are decompressed when they are asked for.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from apps.core.errors import AppError
from apps.core.records import LogLine
from apps.logs.domain.chunk import oldchunks
from apps.logs.domain.chunk.chunkheads import ChunkHeader as ChunkHeader
from apps.logs.domain.chunk.chunkheads import header_of
from apps.logs.domain.chunk.chunktexts import (
    PlainTexts,
    ShapedTexts,
    Texts,
    pack_digits,
    pack_shapes,
    shape_order,
    unpack_shapes,
)
from apps.logs.domain.chunk.intcolumns import Ints, count_of, pack_ints, unpack_ints
from apps.logs.domain.reading.columns import NO_RANK as NO_RANK
from apps.logs.domain.reading.columns import NO_STEP as NO_STEP
from apps.logs.domain.reading.columns import LineColumns, Origin, joined
from apps.logs.domain.reading.shapes import digit_counts
from apps.logs.domain.reading.table import LineTable

VERSION = 2
MAGIC = b"LC"
LEVEL = 1
MAX_LINES = 1 << 20
MAX_PAYLOAD_BYTES = 64 * 1024 * 1024
COLUMNS, SHAPES, LINES, DIGITS, ORIGINALS = range(1, 6)
_HEAD = struct.Struct("<2sBB")
_SECTION = struct.Struct("<BII")
_U32 = struct.Struct("<I")
_FACTORS = (1_000_000_000, 1_000_000, 1_000, 1)

T = TypeVar("T")
Sections = dict[int, bytes]
Frames = dict[int, tuple[bytes, int]]


class BadChunk(AppError):
    """Stored bytes that are no chunk of a known version."""


@dataclass(frozen=True)
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
    lines_text: Texts
    open_originals: Callable[[], dict[int, bytes]] = dict

    def __len__(self) -> int:
        return len(self.seq)

    @cached_property
    def originals(self) -> dict[int, bytes]:
        """Line -> its bytes in the file, where the text is not the same. Raises BadChunk."""
        return _guarded(self.open_originals)

    @property
    def texts(self) -> bytes:
        """All texts without separators; making them costs more than reading some lines."""
        return self.lines_text.whole

    @property
    def text_start(self) -> NDArray[np.int64]:
        """Where each text begins in `texts`; n + 1 places."""
        return self.lines_text.start

    def text(self, number: int) -> str:
        """Text of one line."""
        return self.lines_text.raw(number).decode("utf-8", "replace")

    def original(self, number: int) -> bytes:
        """The bytes of one line as they stood in the file, without the line end."""
        kept = self.originals.get(number)
        return self.lines_text.raw(number) if kept is None else kept

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
        """Which lines contain `needle`. O(shapes + candidates)."""
        return self.lines_text.containing(needle)


def columns_of(chunk: ChunkLines) -> LineColumns:
    """The lines of a chunk, to be written again. What is a prefix of a text is not known."""
    shape, shapes, digits = chunk.lines_text.apart()
    return LineColumns(
        origins=chunk.origins,
        origin=chunk.origin,
        time_ns=chunk.time_ns,
        seq=chunk.seq,
        rank=chunk.rank,
        severity=chunk.severity,
        step=chunk.step,
        message_at=np.zeros(len(chunk), dtype=np.int32),
        shape=shape,
        shapes=shapes,
        digits=digits,
        originals=dict(chunk.originals),
    )


def encode_chunk(
    tables: Sequence[LineTable | LineColumns], *, level: int = LEVEL
) -> tuple[ChunkHeader, bytes]:
    """Header and bytes of one chunk. Raises ValueError if there is no line or more than MAX_LINES.

    level: of zstd. Cost: about 0.7 microseconds a line.
    """
    count = sum(len(table) for table in tables)
    if not 0 < count <= MAX_LINES:
        raise ValueError(f"a chunk holds 1 to {MAX_LINES} lines, not {count}")
    lines = joined([LineColumns.of(table) for table in tables])
    return header_of(lines), pack_chunk(lines, level=level)


def pack_chunk(lines: LineColumns, *, level: int = LEVEL) -> bytes:
    """The bytes of a chunk of 1 to MAX_LINES lines. ValueError if they are too many."""
    sections = _packed(lines)
    size = sum(map(len, sections.values()))
    if size > MAX_PAYLOAD_BYTES:
        raise ValueError(f"a chunk holds at most {MAX_PAYLOAD_BYTES} bytes, not {size}")
    frames = [_frame(name, section, level) for name, section in sections.items()]
    directory = [
        _SECTION.pack(name, len(frame), len(section))
        for (name, section), frame in zip(sections.items(), frames, strict=True)
    ]
    head = _HEAD.pack(MAGIC, VERSION, len(sections))
    return b"".join((head, *directory, *frames))


def _frame(name: int, section: bytes, level: int) -> bytes:
    """Digits come out larger, and later, the more zstd tries."""
    return zstandard.ZstdCompressor(level=LEVEL if name == DIGITS else level).compress(section)


def _packed(lines: LineColumns) -> Sections:
    """The sections before compression."""
    count = np.bincount(lines.shape, minlength=len(lines.shapes))
    used = np.flatnonzero(count)
    order = used[shape_order([lines.shapes[at] for at in used.tolist()], count[used].tolist())]
    place = np.zeros(len(lines.shapes), dtype=np.int32)
    place[order] = np.arange(len(order))
    shape, shapes = place[lines.shape], [lines.shapes[at] for at in order.tolist()]
    counts = digit_counts(shapes).tolist()
    sections = {
        COLUMNS: _pack_columns(lines),
        SHAPES: pack_shapes(shapes),
        LINES: pack_ints(shape.astype(np.int64)),
        DIGITS: pack_digits(shape, counts, lines.all_digits(), lines.digit_at),
    }
    if lines.originals:
        sections[ORIGINALS] = msgspec.msgpack.encode(lines.originals)
    return sections


def _pack_columns(lines: LineColumns) -> bytes:
    origins = msgspec.json.encode(lines.origins)
    named = lines.step != NO_STEP
    return b"".join(
        (
            _U32.pack(len(origins)),
            origins,
            _U32.pack(len(lines)),
            _pack_times(lines.time_ns),
            pack_ints(lines.seq - _guess(lines.seq, lines.text_bytes)),
            pack_ints(lines.origin.astype(np.int64)),
            pack_ints(lines.rank.astype(np.int64)),
            pack_ints(lines.severity.astype(np.int64)),
            pack_ints(named.astype(np.int64)),
            pack_ints(np.diff(lines.step[named], prepend=0)),
        )
    )


def _pack_times(times: Ints) -> bytes:
    factor = next(factor for factor in _FACTORS if not (times % factor).any())
    steps = np.diff(times // factor, prepend=times[:1] // factor)
    return struct.pack("<qq", factor, int(times[0])) + pack_ints(steps)


def _guess(seq: Ints, sizes: Ints) -> Ints:
    """The end of the line before; the residual is 0 for whole lines of one file."""
    guess = np.zeros_like(seq)
    guess[1:] = seq[:-1] + sizes[:-1] + 1
    return guess


def decode_chunk(body: bytes, texts: Texts | None = None) -> ChunkLines:
    """The columns of one chunk. Raises BadChunk for anything that encode_chunk() did not write.

    texts: of open_texts(), if it was called before.
    """
    return _guarded(partial(_decode, bytes(body), texts))


def claims(body: bytes) -> dict[int, int]:
    """Section -> how large it says that it is once unpacked. Raises BadChunk."""
    frames = _guarded(lambda: _frames(body, _version(body)[1]))
    return {name: size for name, (_, size) in frames.items()}


def open_texts(body: bytes) -> Texts:
    """The texts of one chunk without its other columns, which cost as much. Raises BadChunk."""
    return _guarded(partial(_open_texts, bytes(body)))


def _open_texts(body: bytes) -> Texts:
    version, number = _version(body)
    if version == oldchunks.VERSION:
        return _read_old(body).lines_text
    frames = _frames(body, number)
    return _read_texts(frames, _inflated(frames, LINES), None)


def _guarded(read: Callable[[], T]) -> T:
    try:
        return read()
    except BadChunk:
        raise
    except (
        ValueError, IndexError, OverflowError, MemoryError, struct.error, zstandard.ZstdError,
        msgspec.MsgspecError,
    ) as error:  # fmt: skip
        raise BadChunk(
            f"log chunk cannot be read: {error}", hint="the stored bytes are damaged"
        ) from error


def _version(body: bytes) -> tuple[int, int]:
    """Version and number of sections."""
    magic, version, number = _HEAD.unpack_from(body)
    if magic != MAGIC or version not in (oldchunks.VERSION, VERSION):
        raise BadChunk(
            f"log chunk has magic {magic!r} and version {version}, known is {MAGIC!r} {VERSION}",
            hint="it was written by a newer version; upgrade this process",
        )
    return version, number


def _decode(body: bytes, texts: Texts | None) -> ChunkLines:
    version, number = _version(body)
    if version == oldchunks.VERSION:
        return _read_old(body)
    frames = _frames(body, number)
    return _read_columns(_inflated(frames, COLUMNS), frames, texts)


def _frames(body: bytes, number: int) -> Frames:
    """Name -> (frame, its length before compression)."""
    pos, total = _HEAD.size + number * _SECTION.size, 0
    frames = {}
    for at in range(number):
        name, packed, size = _SECTION.unpack_from(body, _HEAD.size + at * _SECTION.size)
        frames[name] = (body[pos : pos + packed], size)
        pos, total = pos + packed, total + size
    if total > MAX_PAYLOAD_BYTES:
        raise BadChunk(f"log chunk claims {total} bytes, the cap is {MAX_PAYLOAD_BYTES}")
    return frames


def _inflated(frames: Frames, name: int) -> bytes:
    frame, size = frames.get(name, (b"", 0))
    claimed = zstandard.frame_content_size(frame)
    if claimed != size:  # checked first: zstd would allocate what the frame claims
        raise BadChunk(f"log chunk section {name} has {claimed} bytes, its header says {size}")
    return zstandard.ZstdDecompressor().decompress(frame)


def _begun(frames: Frames, size: int) -> bytes:
    """The first `size` digits, or all."""
    frame, whole = frames.get(DIGITS, (b"", 0))
    if size >= whole:
        return _inflated(frames, DIGITS)
    return zstandard.ZstdDecompressor().stream_reader(frame).read(size)


def _read_columns(data: bytes, frames: Frames, texts: Texts | None) -> ChunkLines:
    (length,) = _U32.unpack_from(data)
    pos = _U32.size + length
    origins = msgspec.json.decode(data[_U32.size : pos], type=tuple[Origin, ...])
    (count,) = _U32.unpack_from(data, pos)
    if not 0 < count <= MAX_LINES:
        raise BadChunk(f"log chunk claims {count} lines, the cap is {MAX_LINES}")
    factor, first = struct.unpack_from("<qq", data, pos + _U32.size)
    steps, pos = unpack_ints(data, pos + _U32.size + 16, count)
    residual, pos = unpack_ints(data, pos, count)
    origin, pos = unpack_ints(data, pos, count)
    rank, pos = unpack_ints(data, pos, count)
    severity, pos = unpack_ints(data, pos, count)
    named, pos = unpack_ints(data, pos, count)
    told, pos = unpack_ints(data, pos, int(np.count_nonzero(named)))
    if origin.min() < 0 or origin.max() >= len(origins):
        raise BadChunk("log chunk names an origin that it does not list")
    step = np.full(count, NO_STEP, dtype=np.int64)
    step[named != 0] = np.cumsum(told)
    texts = texts or _read_texts(frames, _inflated(frames, LINES), count)
    return ChunkLines(
        origins=origins,
        time_ns=first + np.cumsum(steps) * factor,
        seq=np.cumsum(residual + np.append(0, np.diff(texts.start)[:-1] + 1)),
        origin=origin.astype(np.uint16),
        rank=rank.astype(np.int32),
        severity=severity.astype(np.uint8),
        step=step,
        lines_text=texts,
        open_originals=partial(_read_originals, frames),
    )


def _read_texts(frames: Frames, lines: bytes, count: int | None) -> ShapedTexts:
    """The texts; their digits stay packed until a text is asked for. count: None if not known."""
    shapes = unpack_shapes(_inflated(frames, SHAPES))
    shape, _ = unpack_ints(lines, 0, count_of(lines) if count is None else count)
    if shape.min() < 0 or shape.max() >= len(shapes):
        raise BadChunk("log chunk names a shape that it does not list")
    texts = ShapedTexts(
        shape.astype(np.int32), shapes, lambda size: _guarded(partial(_begun, frames, size))
    )
    if frames.get(DIGITS, (b"", 0))[1] != texts.begin[-1]:
        raise BadChunk("log chunk has more or fewer digits than its shapes")
    return texts


def _read_originals(frames: Frames) -> dict[int, bytes]:
    if ORIGINALS not in frames:
        return {}
    return msgspec.msgpack.decode(_inflated(frames, ORIGINALS), type=dict[int, bytes])


def _read_old(body: bytes) -> ChunkLines:
    """A chunk of version 1."""
    found = oldchunks.read(body, MAX_PAYLOAD_BYTES, MAX_LINES)
    origins = msgspec.json.decode(found.origins, type=tuple[Origin, ...])
    if int(found.columns["origin"].max()) >= len(origins):
        raise BadChunk("log chunk names an origin that it does not list")
    return ChunkLines(
        origins=origins,
        time_ns=np.cumsum(found.columns["time_ns"].astype(np.int64)),
        seq=np.cumsum(found.columns["seq"].astype(np.int64) + found.before),
        origin=found.columns["origin"].astype(np.uint16),
        rank=found.columns["rank"].astype(np.int32),
        severity=found.columns["severity"].astype(np.uint8),
        step=found.columns["step"].astype(np.int64),
        lines_text=PlainTexts(found.text_start, found.texts),
    )
