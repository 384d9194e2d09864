"""A parcel becomes lines again, after all that it says has been checked. Plain Python and NumPy.

Whoever sends may lie about what a line means, as with any other door. But what is opened here can
be stored and read: sizes, counts and values are in bounds, and lines are lines. open_parcel() gives
BadPayload for anything else, and unpacks nothing that is larger than a parcel may be.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from apps.core.errors import AppError, BadPayload
from apps.core.records import MetricRow, Severity
from apps.logs.domain.chunk import chunks
from apps.logs.domain.chunk.chunktexts import ShapedTexts
from apps.logs.domain.chunk.intcolumns import unpack_ints
from apps.logs.domain.chunk.packedcolumns import PackedColumns
from apps.logs.domain.chunk.packedshapes import PackedShapes
from apps.logs.domain.parcel.wire import (
    MAX_CARRY_BYTES,
    MAX_LINES,
    MAX_ORIGINAL_BYTES,
    MAX_SIDE_BYTES,
    MAX_TEXT_BYTES,
    MAX_TIME_NS,
    Row,
    SegmentSide,
    Side,
)
from apps.logs.domain.reading.columns import NO_RANK, NO_STEP, LineColumns, Origin
from apps.logs.domain.reading.joblines import FORMATS, JobRow
from apps.logs.domain.reading.latejobs import LateJobs
from apps.logs.domain.reading.segments import CONSOLE, STDOUT, TEE, ParsedSegment, SegmentMeta
from apps.logs.domain.reading.shapes import all_filled, shaped

_MOST = {
    chunks.COLUMNS: 4 << 20,
    chunks.SHAPES: MAX_TEXT_BYTES + (1 << 20),
    chunks.LINES: 1 << 20,
    chunks.DIGITS: MAX_TEXT_BYTES,
    chunks.ORIGINALS: 2 * MAX_ORIGINAL_BYTES,
}
"""Bytes of each section of a chunk: twice what an honest one can have, and more."""
_SLACK_BYTES = 4096
"""Heads of sections and of frames, and more. What cannot be compressed grows by less than a
hundredth."""
_CHANNELS = frozenset({"stderr", STDOUT, CONSOLE, TEE})
_LEVELS = np.array(list(Severity), dtype=np.uint8)
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Opened:
    """lines: of all segments, in order. formats: as in Side. template: of each line. bounds: number
    of the first line of each segment, and how many there are."""

    lines: LineColumns
    segments: tuple[SegmentSide, ...]
    formats: Ints
    template: Ints
    bounds: tuple[int, ...]

    def read(self, metas: Sequence[SegmentMeta]) -> list[ParsedSegment]:
        """The segments as the reader of the agent said."""
        late = self._late()
        spans = zip(metas, self.segments, pairwise(self.bounds), strict=True)
        return [self._parsed(meta, side, *span, late) for meta, side, span in spans]

    def _late(self) -> LateJobs:
        said, lines = np.flatnonzero(self.formats), self.lines
        return LateJobs(
            said,
            self.formats[said] - 1,
            lines.messages,
            lambda line: int(lines.time_ns[line]),
        )

    def _parsed(
        self, meta: SegmentMeta, side: SegmentSide, start: int, end: int, late: LateJobs
    ) -> ParsedSegment:
        first, last = np.searchsorted(late.lines, (start, end)).tolist()
        job: Sequence[JobRow] = late.part(first, last, start)
        if side.job:
            job = [JobRow(row.line, row.family, _metric_row(row)) for row in side.job]
        return ParsedSegment(
            meta=meta,
            end=side.after.offset,
            lines=self.lines.piece(start, end),
            metrics=list(map(_metric_row, side.metrics)),
            placements=side.placements,
            invalid_utf8_bytes=side.invalid_utf8_bytes,
            long_lines=0,
            carry=side.after,
            metric_lines=[row.line for row in side.metrics],
            job=job,
            unplaced_job_lines=side.unplaced_job_lines,
        )

    def raw(self, sizes: Sequence[int]) -> list[bytes]:
        """The bytes of each segment as they stood in its file. sizes: how many they are.

        BadPayload if they are not those that the agent had.
        """
        lines = self.lines
        texts = all_filled([lines.shapes[at] for at in lines.shape.tolist()], lines.all_digits())
        for at, original in lines.originals.items():
            texts[at] = original
        found = []
        for number, (start, end) in enumerate(pairwise(self.bounds)):
            data = b"\n".join([*texts[start:end], b""])[: sizes[number]]
            if zlib.crc32(data) != self.segments[number].crc:
                raise BadPayload(
                    "the lines are not those that the agent has read",
                    where=f"segments[{number}]",
                    hint="look at the memory of the node; the file still has the lines",
                )
            found.append(data)
        return found


def _metric_row(row: Row) -> MetricRow:
    return MetricRow(row.step, row.time_ns, row.values, row.rank)


@dataclass(frozen=True, slots=True)
class FileSpan:
    """What a segment is said to be: name of its file in the store, from `start` to before `end`."""

    name: str
    start: int
    end: int


def open_parcel(side: bytes, chunk: bytes, files: Sequence[FileSpan]) -> Opened:
    """The lines of a parcel. Raises BadPayload. About 0.7 microseconds a line."""
    said = _side(side)
    if len(said.segments) != len(files):
        raise BadPayload(
            f"{len(said.segments)} segments are described, the header names {len(files)}",
            where="side",
        )
    bounds = tuple(accumulate((one.lines for one in said.segments), initial=0))
    try:
        lines = _lines(chunk, said, bounds[-1])
        formats = _column(said.formats, np.full(len(lines), len(FORMATS)))
        most = np.full(len(lines), len(said.templates) - 1)
        template = np.array(said.templates, dtype=np.int64)[_column(said.template, most)]
    except (AppError, ValueError, IndexError, struct.error) as error:
        raise BadPayload(str(error), where="chunk") from error
    opened = Opened(lines, tuple(said.segments), formats, template, bounds)
    _check_files(opened, files)
    return opened


def _side(side: bytes) -> Side:
    try:
        if not 0 <= zstandard.frame_content_size(side) <= MAX_SIDE_BYTES:
            raise BadPayload(f"unpacks beyond {MAX_SIDE_BYTES} bytes", where="side")
        return msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(side), type=Side)
    except (zstandard.ZstdError, msgspec.MsgspecError, RecursionError) as error:
        raise BadPayload(str(error), where="side") from error


def _lines(chunk: bytes, said: Side, count: int) -> LineColumns:
    _check_sizes(chunk)
    found = chunks.decode_chunk(chunk)
    texts = found.lines_text
    if len(found) != count or count > MAX_LINES:
        raise ValueError(f"{len(found)} lines, not {count}, and at most {MAX_LINES}")
    if any(not 0 <= at < count for at in found.originals):
        raise ValueError("bytes of a line that is not there")
    if int(texts.start[-1]) > MAX_TEXT_BYTES:
        raise ValueError(f"more than {MAX_TEXT_BYTES} bytes of text")
    if not isinstance(texts, ShapedTexts) or len(texts.packed) > count or not _are_lines(texts):
        raise ValueError("a text is no line")
    if any(b"\n" in raw for raw in found.originals.values()):
        raise ValueError("the bytes of a line are several lines")
    message_at = _column(said.message_at, np.diff(texts.start)).astype(np.int32)
    if _inside_letters(texts, message_at):
        raise ValueError("a prefix ends inside of a letter")
    lines = PackedColumns.of_chunk(found, texts, message_at)
    bad = (lines.time_ns < 0) | (lines.time_ns > MAX_TIME_NS) | (lines.rank < NO_RANK)
    bad |= (lines.step < NO_STEP) | (lines.step > MAX_TIME_NS) | ~np.isin(lines.severity, _LEVELS)
    if bad.any():
        raise ValueError("a time, rank, step or level that no line can have")
    return lines


def _check_sizes(chunk: bytes) -> None:
    claims = chunks.claims(chunk)
    for name, size in claims.items():
        if size > _MOST.get(name, 0):
            raise ValueError(f"section {name} unpacks to {size} bytes")
    if len(chunk) > sum(claims.values()) * 1.01 + _SLACK_BYTES:
        raise ValueError(f"{len(chunk)} bytes that say less")


def _are_lines(texts: ShapedTexts) -> bool:
    """Whether shapes are shapes, of lines that end, and text; and digits are digits."""
    data = texts.packed.data
    return (
        b"\n" not in data
        and b"\0" not in data
        and shaped(data) == data
        and (texts.digits or b"0").isdigit()
        and _are_text(texts.packed)
    )


def _are_text(shapes: PackedShapes) -> bool:
    """Whether each is UTF-8: all together are, and none begins inside of a letter."""
    try:
        shapes.data.decode()
    except UnicodeDecodeError:
        return False
    return not _goes_on(shapes.data, shapes.ends).any()


def _inside_letters(texts: ShapedTexts, at: NDArray[np.int32]) -> bool:
    """Whether one of these places in the texts is inside of a letter."""
    shapes = texts.packed
    begin = (shapes.ends - shapes.sizes)[texts.shape]
    return bool(_goes_on(shapes.data, begin + at).any())


def _goes_on(data: bytes, places: Ints) -> NDArray[np.bool_]:
    """At which places of UTF-8 data the letter before goes on."""
    codes = np.frombuffer(data + b" ", dtype=np.uint8)[places]
    inside: NDArray[np.bool_] = (codes & 0xC0) == 0x80
    return inside


def _column(packed: bytes, most: Ints) -> Ints:
    values, _ = unpack_ints(packed, 0, len(most))
    if (values < 0).any() or (values > most).any():
        raise ValueError("a column of the side is out of bounds")
    return values


def _check_files(opened: Opened, files: Sequence[FileSpan]) -> None:
    """BadPayload unless the lines of each segment are its bytes, one after the other."""
    lines = opened.lines
    ends = lines.next_seq
    for number, (file, (start, end)) in enumerate(zip(files, pairwise(opened.bounds), strict=True)):
        seq = lines.seq[start:end]
        whole = start < end and seq[0] == file.start and (ends[start : end - 1] == seq[1:]).all()
        if not whole or int(ends[end - 1]) - file.end not in (0, 1):  # 1: its end had not come
            raise BadPayload("lines outside of their segment", where=f"segments[{number}]")
        used = np.unique(lines.origin[start:end]).tolist()
        if not all(_fits(lines.origins[at], file) for at in used):
            raise BadPayload("lines of another file", where=f"segments[{number}]")
        if opened.segments[number].after.offset != file.end or _outside(
            opened.segments[number], end - start
        ):
            raise BadPayload("says something of other lines", where=f"segments[{number}]")


def _fits(origin: Origin, file: FileSpan) -> bool:
    local = origin.local_rank
    return (
        origin.source == file.name
        and origin.channel in _CHANNELS
        and (local is None or 0 <= local < 2**31)
    )


def _outside(side: SegmentSide, lines: int) -> bool:
    carry = len(side.after.packed())
    return carry > MAX_CARRY_BYTES or any(row.line >= lines for row in _rows(side))


def _rows(side: SegmentSide) -> Iterator[Row]:
    yield from side.metrics
    yield from side.job
