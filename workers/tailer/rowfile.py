"""Whole lines of a JSON-lines file of metrics that is appended to."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from apps.ingest.rows.parse import first_time_ns
from workers.tailer.config import AgentConfig
from workers.tailer.followed import Place
from workers.tailer.logfile import LogFile, Origin
from workers.tailer.taken import Begin, Taken, part_of

_FIRST_BYTES = 4096


class JsonLines:
    """A Taker of one file, a row a line."""

    def __init__(self, path: Path, place: Place | None, config: AgentConfig) -> None:
        origin = Origin(path.name, "rows")
        self._lines = LogFile(path, origin, place, config.limits, patient=True)
        self._config = config
        self.file = self._lines.file
        self.refused = ""
        self.problems: set[str] = set()
        self.events: list[dict[str, Any]] = []
        self._caught_up = False

    def pending(self) -> int:
        """Bytes that are new."""
        return self.file.available()

    def begin(self, *, final: bool) -> Begin | None:
        """The time the first row says; else the file's last change if it is complete, else now."""
        if self.file.available() == 0 and self.file.place.offset == 0:
            return None
        with self.file.path.open("rb") as file:
            line = file.readline(_FIRST_BYTES)
        if not line.endswith(b"\n") and not final:
            return None
        said = first_time_ns(line)
        return Begin(said if said is not None else seen_ns(self._config, self.file.modified_ns()))

    def take(self, budget_bytes: int, *, final: bool) -> Taken | None:
        """The next lines."""
        before = self.file.place
        piece = self._lines.take(budget_bytes, final=final)
        if piece is None:
            return None
        if piece.generation != before.generation:
            before = Place()
        rows = split_lines(piece.data)
        place = replace(self.file.place, records=before.records + len(rows))
        self.file.place = place
        first_line = self.file.beginning(_FIRST_BYTES).partition(b"\n")[0]
        header = {
            "format": "jsonl",
            "seen_ns": seen_ns(self._config, piece.modified_ns),
            "live": self._caught_up and not self._config.once,
        }
        self._caught_up = self.file.available() == 0
        return Taken(part_of(place.generation, first_line), before.records, rows, header)


def split_lines(data: bytes) -> list[bytes]:
    """Pieces that end at a line feed, except perhaps the last; nothing else ends a line."""
    *lines, last = data.split(b"\n")
    return [line + b"\n" for line in lines] + ([last] if last else [])


def seen_ns(config: AgentConfig, modified_ns: int) -> int:
    """The event clock of data that say no time: of the file's last change if it is complete, else
    the agent's, less the time shift that the server adds again."""
    return modified_ns if config.once else changed_ns(config, time.time_ns())


def changed_ns(config: AgentConfig, modified_ns: int) -> int:
    """A time of this machine on the event clock of the data."""
    return modified_ns if config.once else modified_ns - config.time_shift_ns
