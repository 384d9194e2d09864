"""Small log files of our own making for the tests of apps/logs."""

from __future__ import annotations

from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import ParsePolicy, SegmentMeta

SEEN_NS = 1_795_982_000_000_000_000  # 2026-11-29 19:53:20 UTC
S = 1_000_000_000


def meta(**changes):
    """A stderr segment of local rank 1 on gpu-b02 at the start of its file."""
    values = {
        "source": "job/attempt_0/1/stderr.log",
        "channel": "stderr",
        "local_rank": 1,
        "node": "gpu-b02",
        "offset": 0,
        "seen_ns": SEEN_NS,
    } | changes
    return SegmentMeta(**values)


def parse(text, policy=None, **changes):
    """The parsed segment of `text` (str or bytes)."""
    data = text.encode() if isinstance(text, str) else text
    return parse_segment(meta(**changes), data, policy or ParsePolicy())


def console(text, **changes):
    """The parsed segment of a console."""
    values = {"channel": "console", "local_rank": None, "source": "console-gpu-b02.log"} | changes
    return parse(text, **values)


def only(parsed):
    """The one line of a segment."""
    (line,) = parsed.lines
    return line
