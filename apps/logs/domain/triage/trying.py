"""What a fault class would do: the lines it takes, and which class takes them without it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from apps.logs.domain.query.regexes import MAX_REGEX_CHARS
from apps.logs.domain.reading.headers import Clock, read_headers
from apps.logs.domain.triage.classify import Taxonomy
from apps.logs.domain.triage.faultclass import FaultClass
from apps.logs.domain.triage.ownclasses import (
    MAX_PATTERN_CHARS,
    BadFaultClass,
    OwnClass,
    OwnClasses,
    check_count,
    compiled,
    literals_of,
)
from apps.logs.domain.triage.ownmatching import MAX_BYTES, Budget
from apps.logs.domain.triage.owntaxonomy import with_own

MAX_PASTED_CHARS = 100_000
MAX_PASTED_LINES = 1_000
MAX_SHOWN = 100
TRIAL_CPU_S = 2.0
_LOOKED_FOR_CHARS = (MAX_PATTERN_CHARS, 100, 40, 20, 10)
"""How much of each text is looked for in a run, as much as fits into one regex."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A line that the class takes. number: of the line among those that were tried, from 0.

    before, found, after: the text around and at what matched. pattern: which one, from 1.
    instead: the class that takes the line without it, None: none does. built_in: that is ours.
    """

    number: int
    before: str
    found: str
    after: str
    pattern: int
    instead: FaultClass | None
    built_in: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """taken: the first MAX_SHOWN. count: all that it takes. read: lines that were tried; unread:
    those for which there was no time."""

    taken: tuple[Taken, ...]
    count: int
    read: int
    unread: int = 0


class Tester:
    """One class against lines; own: the others of the project. Raises BadFaultClass."""

    def __init__(self, patterns: Sequence[str], own: OwnClasses, built_in: Taxonomy) -> None:
        check_count(patterns, "patterns")
        self._patterns = [
            compiled(pattern, f"pattern {number}") for number, pattern in enumerate(patterns, 1)
        ]
        self._without = with_own(built_in, own)
        self._own = {one.key for one in own.classes if one.on}

    @property
    def regex(self) -> str:
        """RE2 that every line it takes matches: the texts it needs, however they are written; of
        long ones the beginning. BadFaultClass if there are too many of them."""
        texts = [text for one in self._patterns for text in literals_of(one.needs) or ()]
        for most in _LOOKED_FOR_CHARS:
            escaped = {"".join(map(_escaped, text[:most])) for text in texts}
            regex = f"(?i)(?:{'|'.join(sorted(escaped))})"
            if len(regex) <= MAX_REGEX_CHARS:
                return regex
        raise BadFaultClass(
            f"the patterns need one of {len(texts)} texts, too many to look for in a run",
            where="patterns",
            hint="try fewer of them at once, or paste lines",
        )

    def take(
        self, lines: Sequence[str], *, tee: bool = False, budget: Budget | None = None
    ) -> Trial:
        """What it does with whole lines; their prefixes are left out, as for lines that arrive."""
        spent, count = budget or Budget(TRIAL_CPU_S), 0
        taken: list[Taken] = []
        bodies = read_headers(lines, Clock(0), tee=tee).body
        for number, (line, body) in enumerate(zip(lines, bodies, strict=True)):
            if number % 32 == 0 and spent.is_over():
                return Trial(tuple(taken), count, number, len(lines) - number)
            found = self._found(number, line, body)
            if found is not None:
                count += 1
                taken += [found] if count <= MAX_SHOWN else []
        return Trial(tuple(taken), count, len(lines))

    def _found(self, number: int, line: str, body: str) -> Taken | None:
        message = body.encode("utf-8", "replace")[:MAX_BYTES]
        for at, (start, end) in self._spans(message):
            head = line.removesuffix(body) if line.endswith(body) else ""
            instead = self._without.classify(body)
            return Taken(
                number=number,
                before=head + message[:start].decode("utf-8", "replace"),
                found=message[start:end].decode("utf-8", "replace"),
                after=body.encode("utf-8", "replace")[end:].decode("utf-8", "replace"),
                pattern=at,
                instead=instead,
                built_in=instead is not None and instead.id not in self._own,
            )
        return None

    def _spans(self, message: bytes) -> Iterator[tuple[int, tuple[int, int]]]:
        for at, pattern in enumerate(self._patterns, 1):
            span = pattern.span(message)
            if span is not None:
                yield at, span


def pasted(text: str) -> list[str]:
    """The lines of a text, up to a limit; empty ones are left out."""
    lines = (line.rstrip("\r") for line in text[:MAX_PASTED_CHARS].split("\n"))
    return [line for line in lines if line.strip()][:MAX_PASTED_LINES]


def others(own: OwnClasses, key: str) -> OwnClasses:
    """What a project says without one of its classes."""
    kept: Iterable[OwnClass] = (one for one in own.classes if one.key != key)
    return OwnClasses(tuple(kept), own.off, max(own.version, 1))


def _escaped(character: str) -> str:
    return character if character.isalnum() or not character.isascii() else f"\\{character}"
