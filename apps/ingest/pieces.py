"""Records of a followed file as our agent posts them: a header, then the records back to back.

Plain Python. A record is known by file, part and number, whatever the batching.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import msgspec

from apps.ingest import frames

MAX_RECORDS = 200_000
_NAME = msgspec.Meta(min_length=1, max_length=500, pattern=frames.NO_NUL)


class PieceHeader(msgspec.Struct, frozen=True):
    """What every such header says.

    file: names the file for the run. part: changes when the file is replaced by another one of its
    name. first: number of the first record in the part. lengths: of the records, in bytes. begins:
    the lowest number in the part; what is before was sent in another one.
    """

    v: Literal[1]
    file: Annotated[str, _NAME]
    part: Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=frames.NO_NUL)]
    first: frames.Whole
    lengths: Annotated[list[frames.Whole], msgspec.Meta(max_length=MAX_RECORDS)]
    attempt: frames.Attempt | None = None
    node: frames.Node | None = None
    begins: frames.Whole = 0
    time_shift_ns: frames.Shift = 0


H = TypeVar("H", bound=PieceHeader)


def open_pieces(body: bytes, header_type: type[H]) -> tuple[H, tuple[bytes, ...]]:
    """(header, records) of a body; BadPayload names the field at fault."""
    header, rest = frames.split(body, header_type)
    return header, tuple(frames.cut(rest, header.lengths, "header.lengths"))
