"""Which lines of a file are one event: a traceback stays together, per process.

A traceback begins with `Traceback (most recent call last)`, or with a frame (`  File "..."`) if
its beginning was written elsewhere. Lines of the same process that are indented, or begin with a
marker (`^`), belong to it; the first other line is its last: what was raised. Lines of other
processes in between change nothing, nor does the border between two batches (carry.py). All of
them are errors; only the first and the last may become rows of their own (LineColumns.frames).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from apps.core.records import Severity
from apps.logs.domain.reading.carry import MAX_OPEN

HEAD, FRAMES = "head", "frames"
_HEAD = "Traceback (most recent call last)"
_FRAME = '  File "'
_GROUP = "  + Exception Group Traceback"
_CHAIN = (
    "During handling of the above exception",
    "The above exception was the direct cause",
)
_INSIDE = frozenset(" \t^")
_RAISED = re.compile(r"(?:[A-Za-z_]\w{0,80}\.){0,12}[A-Za-z_]\w{0,80}(?::|$)")


class Tracebacks:
    """The open tracebacks of one file: process -> HEAD or FRAMES (its beginning was not seen)."""

    def __init__(self, open_before: Mapping[str, str]) -> None:
        self.open = dict(open_before)

    def severity(self, body: str, process: str) -> int | None:
        """ERROR for a message that belongs to a traceback, else None: its text decides."""
        kind = self.open.get(process)
        if kind is not None:
            return self._go_on(body, process, kind)
        if body.startswith(_HEAD):
            self._begin(process, HEAD)
        elif body.startswith((_FRAME, _GROUP)):
            self._begin(process, FRAMES)
        elif not body.startswith(_CHAIN):
            return None
        return Severity.ERROR

    def end(self, process: str) -> None:
        """A line with a level of its own: whatever was open is over."""
        self.open.pop(process, None)

    def quote(self, process: str) -> None:
        """A traceback begins in the middle of a line, as in torchrun's summary."""
        self._begin(process, FRAMES)

    def _begin(self, process: str, kind: str) -> None:
        if len(self.open) >= MAX_OPEN:
            self.open.pop(next(iter(self.open)))
        self.open[process] = kind

    def _go_on(self, body: str, process: str, kind: str) -> int | None:
        if body[:1] in _INSIDE or body.startswith(_HEAD) or (not body and kind == HEAD):
            return Severity.ERROR
        del self.open[process]
        raised = kind == HEAD or _RAISED.match(body) is not None
        return Severity.ERROR if raised else None
