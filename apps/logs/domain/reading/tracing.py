"""Tracebacks among lines that were read as columns: from where one begins, line by line, until none
is open. Plain Python and NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.reading.columns import NO_RANK
from apps.logs.domain.reading.linefacts import LineFacts
from apps.logs.domain.reading.severities import severity_of_text
from apps.logs.domain.reading.tracebacks import Tracebacks

Ints = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True)
class Tracing:
    """Lines of one file. local: local rank of each, -1 = none. tee: of a merged console."""

    facts: LineFacts
    local: Ints
    tracebacks: Tracebacks
    tee: bool

    def read(self, severity: NDArray[np.uint8], start: int, end: int) -> None:
        """Corrects the severity of the lines from `start` to before `end`."""
        row = self.facts.heads.row[start:end]
        opening = (np.flatnonzero(row["opens"] | row["quotes"]) + start).tolist()
        if self.tracebacks.open and start < end:
            opening = [start, *opening]
        done = start - 1
        for number in opening:
            if number > done:
                done = self._trace(severity, number, end)

    def _trace(self, severity: NDArray[np.uint8], number: int, end: int) -> int:
        """Reads on until no traceback is open; the last line read."""
        row = self.facts.heads.row
        while number < end:
            process = self._process(number)
            if row["level"][number]:
                self.tracebacks.end(process)
            else:
                severity[number] = self._severity(number, process)
            if not self.tracebacks.open:
                break
            number += 1
        return number

    def _severity(self, number: int, process: str) -> int:
        body = self.facts.body(number)
        traced = self.tracebacks.severity(body, process)
        if traced is not None:
            return traced
        in_console = self.tee and self.local[number] == NO_RANK
        alone = severity_of_text(body, in_console=bool(in_console))
        if alone.quotes:
            self.tracebacks.quote(process)
        return alone.severity

    def _process(self, number: int) -> str:
        heads = self.facts.heads
        if self.local[number] != NO_RANK:
            return f"l{self.local[number]}"
        if heads.rank[number] != NO_RANK:
            return f"r{heads.rank[number]}"
        return heads.labels.get(number, "")
