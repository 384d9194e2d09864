"""Parcels as our agent sends them: log segments that it has read and packed. Plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from apps.core.errors import BadPayload
from apps.ingest import frames
from apps.ingest.logs.parse import LogBatch, Segment
from apps.logs.domain.parcel.opening import FileSpan, Opened, open_parcel
from apps.logs.domain.parcel.packing import stored_name


class _Header(msgspec.Struct, frozen=True):
    v: Literal[1]
    reader: frames.Whole
    side: frames.Whole
    segments: Annotated[list[Segment], msgspec.Meta(min_length=1, max_length=10_000)]
    attempt: frames.Attempt | None = None
    node: frames.Node | None = None
    time_shift_ns: frames.Shift = 0


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Lines of one node. reader: of the agent (parcel/reader.py). chunk: the lines as they came."""

    attempt: int | None
    node: str | None
    time_shift_ns: int
    reader: int
    segments: tuple[Segment, ...]
    opened: Opened
    chunk: bytes

    def unread(self) -> LogBatch:
        """The same as raw segments. BadPayload if the bytes are not those that the agent had."""
        data = self.opened.raw([segment.bytes for segment in self.segments])
        pieces = tuple(zip(self.segments, data, strict=True))
        return LogBatch(self.attempt, self.node, self.time_shift_ns, pieces)


def parse(body: bytes) -> PackedBatch:
    """A body of the door `packed`; BadPayload for what cannot be one."""
    header, rest = frames.split(body, _Header)
    if header.side > len(rest):
        raise BadPayload(f"is {header.side}, the body holds {len(rest)} bytes", where="side")
    side, chunk = bytes(rest[: header.side]), bytes(rest[header.side :])
    files = [
        FileSpan(stored_name(s.source, s.generation), s.offset, s.offset + s.bytes)
        for s in header.segments
    ]
    return PackedBatch(
        attempt=header.attempt,
        node=header.node,
        time_shift_ns=header.time_shift_ns,
        reader=header.reader,
        segments=tuple(header.segments),
        opened=open_parcel(side, chunk, files),
        chunk=chunk,
    )
