"""What a parcel says beside its lines. Plain Python, for the agent and the server.

The lines of a parcel are one chunk (domain/chunk/chunks.py). What a chunk does not hold, and the
store or the detectors need, is its side: msgpack in one zstd frame.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from apps.logs.domain.reading.carry import Carry
from apps.logs.domain.reading.facts import Placement

MAX_LINES = 20_000
MAX_TEXT_BYTES = 8 << 20
MAX_ORIGINAL_BYTES = 2 << 20
MAX_SIDE_BYTES = 2 << 20
MAX_CARRY_BYTES = 64 << 10
"""What unpacks to more than these is no parcel: the agent sends bytes then."""
MAX_TIME_NS = 2**62
"""The year 2116. Lines of a later time, or of one before 1970, go as bytes."""

_Whole = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Line = Annotated[int, msgspec.Meta(ge=0, lt=MAX_LINES)]
_Rank = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_Name = Annotated[str, msgspec.Meta(max_length=300, pattern="^[^\\x00]*$")]
_Values = Annotated[dict[_Name, float], msgspec.Meta(max_length=200)]


class Row(msgspec.Struct, frozen=True, array_like=True):
    """Numbers that one line tells. line: of its segment. rank: None for numbers of the job, which
    are of a `family` of formats (reading/joblines.py)."""

    line: _Line
    step: _Whole
    time_ns: _Whole
    values: _Values
    rank: _Rank | None = None
    family: Annotated[str, msgspec.Meta(max_length=40, pattern="^[^\\x00]*$")] = ""


class SegmentSide(msgspec.Struct, frozen=True, array_like=True):
    """What the reader said of one segment (reading/segments.py: ParsedSegment).

    lines: how many. crc: of its bytes (CRC-32). before: the state of the file that it was read
    with. job: numbers of the job that are no `formats` of Side.
    """

    lines: Annotated[int, msgspec.Meta(ge=0, le=MAX_LINES)]
    crc: Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
    before: Carry | None
    after: Carry
    invalid_utf8_bytes: _Whole = 0
    unplaced_job_lines: _Whole = 0
    metrics: list[Row] = []
    job: list[Row] = []
    placements: list[Placement] = []


class Side(msgspec.Struct, frozen=True, array_like=True):
    """message_at, formats, template: a column each for all lines (chunk/intcolumns.py): how many
    bytes of the text are prefixes; 1 + index into joblines.FORMATS of a line that tells numbers of
    the job, else 0; index into `templates`, which are ids (pattern/templates.py)."""

    segments: list[SegmentSide]
    message_at: bytes
    formats: bytes
    template: bytes
    templates: list[Annotated[int, msgspec.Meta(gt=0, le=2**63 - 1)]]
