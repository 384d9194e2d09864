"""Which class of a project a line belongs to.

RE2 only: no pattern backtracks. A line is read by a pattern only if its shape (shapes.py) holds a
text that the pattern needs, and the time for the lines of one batch has an end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from apps.logs.domain.query.regexes import LineRegex
from apps.logs.domain.reading.shapes import shaped
from apps.logs.domain.triage.faultclass import FaultClass
from apps.logs.domain.triage.ownclasses import (
    SEVERITIES,
    BadFaultClass,
    OwnClass,
    compiled,
    literals_of,
)
from apps.logs.domain.triage.prefilter import Prefilter

MAX_BYTES = 4096
"""Of a message that are read."""
MAX_SHAPES = 4_000
BATCH_CPU_S = 1.0
_LOOK_EVERY = 32
_PRIORITY, _SPECIFICITY = 100, 90
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Pattern:
    fault: FaultClass
    regex: LineRegex
    texts: tuple[str, ...]
    any_case: bool

    def may_be_in(self, shape: str, folded: str) -> bool:
        whole = folded if self.any_case else shape
        return any(text in whole for text in self.texts)


@dataclass(slots=True)
class Budget:
    """CPU seconds that are left; clock: of this thread, so that waiting costs nothing."""

    left_s: float = BATCH_CPU_S
    clock: Callable[[], float] = time.thread_time
    _began_s: float | None = None

    def is_over(self) -> bool:
        """Whether the time since the first call is used up."""
        now_s = self.clock()
        self._began_s = now_s if self._began_s is None else self._began_s
        return now_s - self._began_s >= self.left_s


@dataclass(slots=True)
class OwnMatcher:
    """The classes of a project that are on, in their order."""

    prefilter: Prefilter
    _patterns: Sequence[_Pattern]
    _by_shape: dict[bytes, tuple[_Pattern, ...]] = field(default_factory=dict)

    @property
    def faults(self) -> dict[str, FaultClass]:
        """key -> class."""
        return {pattern.fault.id: pattern.fault for pattern in self._patterns}

    def first(self, message: bytes) -> FaultClass | None:
        """The class of one message (UTF-8, prefixes stripped). About 2 microseconds."""
        text = message[:MAX_BYTES]
        return self._fitting(self.likely(shaped(text)), text)

    def of_lines(
        self, lines: Iterable[tuple[int, bytes]], budget: Budget
    ) -> tuple[dict[int, FaultClass], int]:
        """(number -> class, how many lines were not read because the budget was used up)."""
        found: dict[int, FaultClass] = {}
        unread = 0
        for at, (number, message) in enumerate(lines):
            if unread or (at % _LOOK_EVERY == 0 and budget.is_over()):
                unread += 1
            elif (fault := self.first(message)) is not None:
                found[number] = fault
        return found, unread

    def likely(self, shape: bytes) -> tuple[_Pattern, ...]:
        """The patterns that a message of this shape may match; remembered."""
        known = self._by_shape.get(shape)
        if known is None:
            if len(self._by_shape) >= MAX_SHAPES:
                self._by_shape.clear()
            text = shape.decode("utf-8", "replace")
            folded = text.casefold()
            known = tuple(one for one in self._patterns if one.may_be_in(text, folded))
            self._by_shape[shape] = known
        return known

    def _fitting(self, patterns: Sequence[_Pattern], text: bytes) -> FaultClass | None:
        return next((one.fault for one in patterns if one.regex.finds(text)), None)


def matcher_of(classes: Iterable[OwnClass]) -> OwnMatcher:
    """The classes that are on. One that cannot be compiled any more is left out and logged: it may
    not hold up the lines of everybody."""
    patterns = [pattern for one in classes if one.on for pattern in _patterns(one)]
    cased = [one for one in patterns if not one.any_case]
    loose = [one for one in patterns if one.any_case]
    return OwnMatcher(Prefilter(_texts(cased), _texts(loose)), patterns)


def _texts(patterns: Iterable[_Pattern]) -> Iterator[str]:
    return (text for pattern in patterns for text in pattern.texts)


def _patterns(one: OwnClass) -> Iterator[_Pattern]:
    fault = fault_of(one)
    for text in one.patterns:
        try:
            regex = compiled(text, f"class {one.key}")
        except BadFaultClass:
            logger.exception("a fault class of a project is left out")
            continue
        any_case = regex.needs.ignore_case
        texts = [t.casefold() if any_case else t for t in literals_of(regex.needs) or ()]
        shapes = tuple(shaped(t.encode("utf-8", "replace")).decode() for t in texts)
        yield _Pattern(fault, regex, shapes, any_case)


def fault_of(one: OwnClass) -> FaultClass:
    """The class as the first-failure rule sees it."""
    return FaultClass(
        id=one.key,
        title=one.title,
        layer=one.layer,
        role=one.role,
        blame=one.blame,
        match_priority=_PRIORITY,
        specificity=_SPECIFICITY,
        action=one.action,
        literals=(),
        regexes=(),
        severity=SEVERITIES[one.severity],
    )
