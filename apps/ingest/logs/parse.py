"""Log segments as our agent sends them. Plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from apps.core.errors import BadPayload
from apps.ingest import frames
from apps.logs.domain.reading.carry import Carry
from apps.logs.domain.reading.segments import ParsePolicy, SegmentMeta

MAX_LINES = 1_000_000


_INT4 = msgspec.Meta(ge=0, lt=2**31)


_DAY_S = msgspec.Meta(ge=-86_400, le=86_400)


class Segment(msgspec.Struct, frozen=True):
    """A byte range of one file. offset: where it starts in the file.

    rank: global, of the one process that wrote it all. zone_offset_s: of its stamps without a
    zone, seconds east of UTC. tasks_are_ranks: its `N: ` labels (srun --label) are global ranks.
    alone: a console is all there is of its processes.
    """

    source: Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=frames.NO_NUL)]
    channel: Literal["stderr", "stdout", "console"]
    offset: frames.Whole
    bytes: frames.Whole
    seen_ns: frames.Whole
    local_rank: Annotated[int, _INT4] | None = None
    generation: Annotated[int, _INT4] = 0
    partial: bool = False
    rank: Annotated[int, _INT4] | None = None
    zone_offset_s: Annotated[int, _DAY_S] = 0
    tasks_are_ranks: bool = False
    alone: bool = False

    def meta(
        self, node: str | None, shift_ns: int, carry: Carry | None, previous_ns: int | None
    ) -> SegmentMeta:
        """What the reader is told of it. carry, previous_ns: of the file before it."""
        return SegmentMeta(
            source=self.source,
            channel=self.channel,
            local_rank=self.local_rank,
            node=node,
            offset=self.offset,
            seen_ns=self.seen_ns,
            generation=self.generation,
            previous_ns=previous_ns,
            time_shift_ns=shift_ns,
            partial=self.partial,
            rank=self.rank,
            carry=carry,
        )

    def policy(self) -> ParsePolicy:
        """Switches of the reader."""
        return ParsePolicy(self.zone_offset_s, self.tasks_are_ranks, self.alone)


class _Header(msgspec.Struct, frozen=True):
    v: Literal[1]
    segments: Annotated[list[Segment], msgspec.Meta(max_length=10_000)]
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
    if body.count(b"\n") > MAX_LINES + 1:
        raise BadPayload(f"more than {MAX_LINES} lines", where="body", hint="send smaller batches")
    header, rest = frames.split(body, _Header)
    pieces = frames.cut(rest, [s.bytes for s in header.segments], "segments[].bytes")
    return LogBatch(
        attempt=header.attempt,
        node=header.node,
        time_shift_ns=header.time_shift_ns,
        segments=tuple(zip(header.segments, pieces, strict=True)),
    )
