"""What the lines before a segment leave open, so that where a file was cut changes nothing.

The writer keeps it beside the end of each file and gives it to the segment that begins there.
Plain Python.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from apps.core.records import Severity

MAX_OPEN = 1_000
"""Processes of one file that are remembered; the newest are kept."""

_Rank = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_Whole = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Time = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class OpenLine(msgspec.Struct, frozen=True, array_like=True):
    """A line whose end had not come. piece: its number among the pieces of that line, from 1."""

    piece: _Whole
    severity: Severity
    rank: _Rank | None
    local_rank: _Rank | None


class OpenBlock(msgspec.Struct, frozen=True, array_like=True):
    """Numbers of the job that go on over several lines. marker: of their format."""

    marker: str
    step: _Whole
    time_ns: _Time


class Carry(msgspec.Struct, frozen=True, array_like=True):
    """State of a file behind its byte `offset`.

    time_ns: of the last line; stamped: some line of the file had a time of its own. open: process
    -> kind of its open traceback. ranks: local rank (None: the only process) -> rank it named
    itself. line: the unfinished one. parts: stream -> beginning of a line that the container
    runtime has cut. block: numbers that may go on.
    """

    offset: _Whole
    time_ns: _Time
    stamped: bool
    open: dict[str, str] = {}
    ranks: list[tuple[_Rank | None, _Rank]] = []
    line: OpenLine | None = None
    parts: dict[str, str] = {}
    block: OpenBlock | None = None

    def packed(self) -> bytes:
        """For the database; usually 40 bytes."""
        return msgspec.msgpack.encode(self)


def unpack(data: bytes | None) -> Carry | None:
    """What `packed` gave; None for what is missing or of another version: it is only context."""
    if data is None:
        return None
    try:
        return msgspec.msgpack.decode(data, type=Carry)
    except msgspec.DecodeError:
        return None
