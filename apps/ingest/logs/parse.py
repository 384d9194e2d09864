"""Log segments as our agent sends them. Plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from apps.ingest import frames


class Segment(msgspec.Struct, frozen=True):
    """A byte range of one file. offset: where it starts in the file."""

    source: str
    channel: str
    offset: frames.Whole
    bytes: frames.Whole
    seen_ns: frames.Whole
    local_rank: frames.Whole | None = None
    generation: frames.Whole = 0
    partial: bool = False


class _Header(msgspec.Struct, frozen=True):
    v: Literal[1]
    segments: list[Segment]
    attempt: frames.Attempt | None = None
    node: frames.Node | None = None
    time_shift_ns: frames.Shift = 0


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
    pieces = frames.cut(rest, [s.bytes for s in header.segments], "segments[].bytes")
    return LogBatch(
        attempt=header.attempt,
        node=header.node,
        time_shift_ns=header.time_shift_ns,
        segments=tuple(zip(header.segments, pieces, strict=True)),
    )
