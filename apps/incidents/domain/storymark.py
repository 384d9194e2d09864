"""Where a page of the story of a host ends, so that the next one loses and doubles no line.

Many sources write whole seconds, so many lines have one time; such lines are told apart by their
source and by their key in it. Plain Python.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.core.words import whole

SOURCES = ("attempt", "state", "incident", "event")
"""Of lines of one time that of the last source here counts as the newest."""
_MAX_KEY = 2**128 - 1


@dataclass(frozen=True, slots=True)
class Mark:
    """The place of one line. key: tells it from others of its source: the digest of an event, the
    number of an incident or a change, run and attempt.

    Without a source: where no line is, before all of that time.
    """

    at_ns: int
    source: str = ""
    key: tuple[int, int] = (0, 0)

    @property
    def order(self) -> tuple[int, int, tuple[int, int]]:
        """Ascends with time."""
        return self.at_ns, SOURCES.index(self.source) if self.source else -1, self.key

    def before(self, source: str) -> tuple[int, int, int]:
        """(time, key): the lines of a source that are older than this one have less."""
        if source == self.source:
            return self.at_ns, *self.key
        _, own, _ = self.order
        return self.at_ns + (own > SOURCES.index(source)), 0, 0

    def __str__(self) -> str:
        first, second = self.key
        return f"{self.at_ns}~{self.source}~{first}~{second}"


ALWAYS = Mark(2**62)
"""Newer than every line."""


def mark_of(text: str) -> Mark | None:
    """The mark that a text is of, or a time alone; None for any other text."""
    time_text, *rest = text.split("~")
    at_ns = whole(time_text)
    if at_ns is None or not rest:
        return None if at_ns is None else Mark(at_ns)
    source, *numbers = rest
    key = [whole(number, _MAX_KEY) for number in numbers]
    if source not in SOURCES or len(key) != 2 or None in key:
        return None
    return Mark(at_ns, source, (key[0] or 0, key[1] or 0))
