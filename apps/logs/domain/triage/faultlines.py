"""The fault class of each of many lines, in one pass.

Lines repeat except for their numbers, so that a batch has few shapes (shapes.py). A prefilter looks
through these for the texts of all classes at once; only lines of a shape that holds one are written
out and read by a regex.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apps.core.records import Severity
from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.triage.classify import MAX_CLASSIFIED_CHARS, Taxonomy
from apps.logs.domain.triage.faultclass import FaultClass
from apps.logs.domain.triage.ownmatching import Budget, OwnMatcher

_AT_BITS = 32
_AT_MASK = (1 << _AT_BITS) - 1
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LineFaults:
    """taxonomy: the version that says so. by_line: number of a line -> its class. own: numbers of
    lines that a class of the project took. unread: lines that its classes had no time for."""

    taxonomy: str
    by_line: Mapping[int, FaultClass]
    own: Numbers
    unread: int = 0


def faults_in(
    lines: LineColumns, taxonomy: Taxonomy, *, every: bool = False, budget: Budget | None = None
) -> LineFaults:
    """The classes of a batch: those of the project of any line, built-in ones of warnings and
    errors, or with `every` of all lines.

    The same as taxonomy.classify() says of each message. Cost: 1 microsecond for a shape of 100
    bytes, 5 for a line of a shape that holds a text of a class; next to nothing for the others.
    """
    own: dict[int, FaultClass] = {}
    unread = 0
    if taxonomy.own is not None:
        own, unread = _own_in(lines, taxonomy.own, budget or Budget())
    serious = np.arange(len(lines)) if every else np.flatnonzero(lines.severity >= Severity.WARNING)
    found = _built_in(lines, taxonomy, serious)
    return LineFaults(
        taxonomy.label, found | own, np.array(sorted(own), dtype=np.int64), unread=unread
    )


def raise_severity(lines: LineColumns, faults: LineFaults) -> None:
    """Lines of a class of the project are as severe as it says, or more."""
    if len(faults.own):
        least = [faults.by_line[number].severity for number in faults.own.tolist()]
        lines.severity = lines.severity.copy()
        lines.severity[faults.own] = np.maximum(lines.severity[faults.own], least)


def _own_in(
    lines: LineColumns, own: OwnMatcher, budget: Budget
) -> tuple[dict[int, FaultClass], int]:
    kinds = _Kinds(lines, np.arange(len(lines)))
    likely = kinds.lines_of(set(own.prefilter.holding(kinds.shapes)))
    texts = zip(likely.tolist(), lines.several(likely), strict=True)
    messages = (
        (number, text.encode("utf-8", "replace")[lines.message_at[number] :])
        for number, text in texts
    )
    return own.of_lines(messages, budget)


def _built_in(lines: LineColumns, taxonomy: Taxonomy, numbers: Numbers) -> dict[int, FaultClass]:
    kinds = _Kinds(lines, numbers)
    held = [(at, kinds.shapes[at]) for at in taxonomy.prefilter.holding(kinds.shapes)]
    likely = kinds.lines_of({at for at, shape in held if _may_be(shape, taxonomy)})
    return dict(_classified(lines, taxonomy, likely))


def _may_be(shape: bytes, taxonomy: Taxonomy) -> bool:
    return len(shape) > MAX_CLASSIFIED_CHARS or not taxonomy.known(shape).means_nothing


def _classified(
    lines: LineColumns, taxonomy: Taxonomy, numbers: Numbers
) -> Iterator[tuple[int, FaultClass]]:
    for number, text in zip(numbers.tolist(), lines.several(numbers), strict=True):
        at = int(lines.message_at[number])
        if not text.isascii():
            at = len(text.encode("utf-8", "replace")[:at].decode())
        fault = taxonomy.built_in(text[at:])
        if fault is not None:
            yield number, fault


class _Kinds:
    """Lines by the shape of their message. shapes: each once."""

    def __init__(self, lines: LineColumns, numbers: Numbers) -> None:
        keys = lines.shape[numbers].astype(np.int64) << _AT_BITS | lines.message_at[numbers]
        unique, self._kind = np.unique(keys, return_inverse=True)
        places = zip((unique >> _AT_BITS).tolist(), (unique & _AT_MASK).tolist(), strict=True)
        self.shapes = [lines.shapes[shape][at:] for shape, at in places]
        self._numbers = numbers

    def lines_of(self, kinds: set[int]) -> Numbers:
        """Numbers of the lines of these shapes."""
        wanted = np.zeros(len(self.shapes), dtype=np.bool_)
        wanted[list(kinds)] = True
        return self._numbers[wanted[self._kind]]
