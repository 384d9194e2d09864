"""Log segments as our agent sends them. Plain Python."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from apps.core.errors import BadPayload
from apps.ingest import frames

VERSION = 1


class Segment(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """A byte range of one file. offset: where it starts in the file."""

    source: str
    channel: str
    offset: int
    bytes: int
    seen_ns: int
    local_rank: int | None = None
    generation: int = 0
    partial: bool = False


class _Header(msgspec.Struct, frozen=True):
    v: int
    segments: list[Segment]
    attempt: int | None = None
    node: str | None = None
    time_shift_ns: int = 0


@dataclass(frozen=True, slots=True)
class LogBatch:
    """Raw segments of one node. time_shift_ns: added to every event time (replays)."""

    attempt: int | None
    node: str | None
    time_shift_ns: int
    segments: tuple[tuple[Segment, bytes], ...]


def parse(body: bytes) -> LogBatch:
    """The segments of a body; BadPayload if header and bytes do not fit."""
    header, rest = frames.split(body, _Header)
    if header.v != VERSION:
        raise BadPayload(f"version {header.v} is not {VERSION}", where="header.v")
    pieces = frames.cut(rest, [s.bytes for s in header.segments], "segments[].bytes")
    return LogBatch(
        attempt=header.attempt,
        node=header.node,
        time_shift_ns=header.time_shift_ns,
        segments=tuple(zip(header.segments, pieces, strict=True)),
    )
