"""What the lines before a segment leave open, so that where a file was cut changes nothing.

The writer keeps it beside the end of each file and gives it to the segment that begins there.
Plain Python.
"""

from __future__ import annotations

import msgspec

MAX_OPEN = 1_000
"""Processes of one file that are remembered; the newest are kept."""


class OpenLine(msgspec.Struct, frozen=True, array_like=True):
    """A line whose end had not come. piece: its number among the pieces of that line, from 1."""

    piece: int
    severity: int
    rank: int | None
    local_rank: int | None


class OpenBlock(msgspec.Struct, frozen=True, array_like=True):
    """Numbers of the job that go on over several lines. marker: of their format."""

    marker: str
    step: int
    time_ns: int


class Carry(msgspec.Struct, frozen=True, array_like=True):
    """State of a file behind its byte `offset`.

    time_ns: of the last line; stamped: some line of the file had a time of its own. open: process
    -> kind of its open traceback. ranks: local rank (None: the only process) -> rank it named
    itself. line: the unfinished one. parts: stream -> beginning of a line that the container
    runtime has cut. block: numbers that may go on.
    """

    offset: int
    time_ns: int
    stamped: bool
    open: dict[str, str] = {}
    ranks: list[tuple[int | None, int]] = []
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
