"""Lines that came one by one with a time and a level of their own, instead of as bytes of a file.

Plain Python. They are read like the lines of a file (`parse_segment`), so that steps, numbers and
tracebacks mean the same however a line came; what the sender said beside the text wins.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import cast

from apps.logs.domain.reading.lines import parse_segment
from apps.logs.domain.reading.segments import CONSOLE, ParsedSegment, ParsePolicy, SegmentMeta
from apps.logs.domain.reading.table import LineTable

TEE_MARK = "[default"
RANK_MARK = "[rank"


@dataclass(frozen=True, slots=True)
class Entries:
    """Lines of one process and one source, as columns of equal length, in order of arrival.

    time_ns, severity (a Severity), step: None where the sender does not say. text: may hold
    several lines; they share what was said. rank: of all of them, None if they are no rank's; a
    line that begins with `[rank7]:` is of rank 7 all the same.
    """

    time_ns: Sequence[int | None]
    severity: Sequence[int | None]
    step: Sequence[int | None]
    text: Sequence[str]
    rank: int | None = None

    def __len__(self) -> int:
        return len(self.text)


def parse_entries(meta: SegmentMeta, entries: Entries) -> ParsedSegment:
    """The entries as a segment of a file that grows by them: offsets run on from meta.offset.

    A time that nobody said is the stamp in the text, else that of the line before, else
    meta.seen_ns. If all entries say their time and level their texts are taken as they are, else
    a text that is an object of JSON is opened. Cost: that of parse_segment, and about 1
    microsecond a line; see entrycolumns.py for many at once.
    """
    texts = [text.removesuffix("\n") for text in entries.text]
    raws = [f"{text}\n".encode("utf-8", "replace") for text in texts]
    plain = None not in entries.time_ns and None not in entries.severity
    parsed = parse_segment(_as_printed(meta, entries), b"".join(raws), ParsePolicy(plain=plain))
    lines = cast(LineTable, parsed.lines)
    starts = list(accumulate(map(len, raws), initial=meta.offset))[:-1]
    owner = [bisect_right(starts, seq) - 1 for seq in lines.seq]
    shift = meta.time_shift_ns
    lines.time_ns = _told(lines.time_ns, [t if t is None else t + shift for t in entries.time_ns],
                          owner)  # fmt: skip
    lines.severity = _told(lines.severity, entries.severity, owner)
    lines.step = _told_or_none(lines.step, entries.step, owner)
    return _at_its_times(parsed)


def _as_printed(meta: SegmentMeta, entries: Entries) -> SegmentMeta:
    """Lines with torchrun's `[default3]:` in front are of all processes of a node, whatever rank
    the launcher that printed them has; so may those with `[rank3]:` be where no rank was said."""
    marks = (TEE_MARK, RANK_MARK) if entries.rank is None else (TEE_MARK,)
    if meta.local_rank is None and any(text.startswith(marks) for text in entries.text):
        return replace(meta, channel=CONSOLE)
    return replace(meta, rank=entries.rank)


def _told(read: Sequence[int], said: Sequence[int | None], owner: Sequence[int]) -> list[int]:
    """What the sender said of each line, else what was read in it."""
    return [
        own if (word := said[at]) is None else word for own, at in zip(read, owner, strict=True)
    ]


def _told_or_none(
    read: Sequence[int | None], said: Sequence[int | None], owner: Sequence[int]
) -> list[int | None]:
    return [
        own if (word := said[at]) is None else word for own, at in zip(read, owner, strict=True)
    ]


def _at_its_times(parsed: ParsedSegment) -> ParsedSegment:
    """The numbers that lines tell, at the times of their lines."""
    times = [int(at) for at in parsed.lines.time_ns]
    metrics = [
        replace(row, time_ns=times[line])
        for row, line in zip(parsed.metrics, parsed.metric_lines, strict=True)
    ]
    job = [replace(one, row=replace(one.row, time_ns=times[one.line])) for one in parsed.job]
    return replace(parsed, metrics=metrics, job=job)
