"""Files of metrics that are rewritten as a whole: which of their rows are new.

A row is known by its number and by a digest of all rows up to it, so that a rewrite that keeps
the rows (Lightning adds a column) sends none again, and one that does not is a file of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from workers.tailer.followed import Place

DIGITS = 16
MAX_MARKS = 64


def link(before: str, row: str) -> str:
    """The digest of the rows up to and with `row`; before: of those before it, "" if none."""
    return hashlib.sha256(f"{before}\n{row}".encode("utf-8", "replace")).hexdigest()[:DIGITS]


def chain(rows: Iterable[str], start: str = "") -> list[str]:
    """Digests behind each row, beginning with that before the first one."""
    digests = [start]
    for row in rows:
        digests.append(link(digests[-1], row))
    return digests


@dataclass(frozen=True, slots=True)
class Known:
    """How much of a rewritten file is known. rows: that many from its start were handed over.

    again: the file goes another way behind them: what comes is a new life of it.
    """

    rows: int
    again: bool


def known_rows(place: Place, digests: Sequence[str]) -> Known:
    """What of a file with these digests was handed over by `place`.

    If it no longer holds all rows, the longest state that `place` remembers and the file holds
    counts: a training that went back to a checkpoint has the rows up to there.
    """
    if place.records < len(digests) and digests[place.records] == place.head:
        return Known(place.records, again=False)
    for rows, digest in reversed(marks_of(place)):
        if rows < len(digests) and digests[rows] == digest:
            return Known(rows, again=True)
    return Known(0, again=True)


def marks_of(place: Place) -> list[tuple[int, str]]:
    """(rows, digest) of the states remembered, oldest first."""
    pairs = (mark.partition(":") for mark in place.marks.split(",") if mark)
    return [(int(rows), digest) for rows, _, digest in pairs]


def with_mark(place: Place) -> Place:
    """The place, remembering how it stands now; of many states every second old one is dropped."""
    marks = [mark for mark in marks_of(place) if mark[0] < place.records]
    marks.append((place.records, place.head))
    if len(marks) > MAX_MARKS:
        half = len(marks) // 2
        marks = marks[:half:2] + marks[half:]
    return replace(place, marks=",".join(f"{rows}:{digest}" for rows, digest in marks))
