"""Patterns of a project for numbers in the log lines of ranks: `fwd {forward_time:compute} s`.

Text with holes and no regular expression: people write their own, and none may cost more than time
proportional to the line it looks at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apps.core.errors import AppError
from apps.metrics.domain.rank_signals import Meaning

MAX_PATTERNS = 30
MAX_CHARS = 200
MAX_HOLES = 12
MAX_ANY = 1
LOOKED_AT_CHARS = 4_000
"""Of longer lines only the beginning is read."""
PREFIX = "rank/"
HOLES = {
    "step": "the step, where the line says it in a way of its own",
    "number": "a number, not kept",
    "any": "any text up to what follows, not kept",
}
_MEANINGS = frozenset(meaning.value for meaning in Meaning)
_HOLE = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"([a-z][a-z0-9_]{0,39})(?::([a-z]+))?")
_REAL = r"[+-]?(?:[0-9]{1,18}+(?:\.[0-9]{1,18}+)?+(?:[eE][+-]?[0-9]{1,3}+)?+|nan|inf|NaN|Inf)"
_WHOLE = r"[0-9]{1,12}+(?![0-9])"
_ANY = r".{0,200}?"


@dataclass(frozen=True, slots=True)
class SignalPattern:
    """A pattern that is ready to read. literal: its longest piece of text, which a line must hold.
    series: what it reads. meanings: series -> how it is compared, where the pattern says so."""

    text: str
    literal: str
    series: tuple[str, ...]
    meanings: Mapping[str, str]
    _pattern: re.Pattern[str]

    def read(self, line: str) -> tuple[int | None, dict[str, float]] | None:
        """(the step it says, series -> value), None for a line that does not fit. NaN is a value.

        Found anywhere in the line, also in what stands before its message; linear in its length.
        """
        if self.literal not in line:
            return None
        found = self._pattern.search(line[:LOOKED_AT_CHARS])
        if found is None:
            return None
        told = found.groupdict()
        step = told.pop("step", None)
        return None if step is None else int(step), {
            PREFIX + name: float(value) for name, value in told.items()
        }


@dataclass(frozen=True, slots=True)
class SignalRules:
    """What a project says. patterns: as written. version: grows with each change, 0 before the
    first."""

    patterns: tuple[str, ...] = ()
    version: int = 0
    changed_at_ns: int = 0
    changed_by: str = ""
    parsed: tuple[SignalPattern, ...] = field(default=(), compare=False)

    @property
    def meanings(self) -> dict[str, str]:
        """series -> how it is compared, of all patterns; the first that says it counts."""
        found: dict[str, str] = {}
        for pattern in self.parsed:
            for series, meaning in pattern.meanings.items():
                found.setdefault(series, meaning)
        return found


def rules_of(
    patterns: Sequence[str], version: int = 0, at_ns: int = 0, by: str = ""
) -> SignalRules:
    """The rules with their patterns parsed; AppError names the pattern that cannot be read."""
    if len(patterns) > MAX_PATTERNS:
        raise AppError(f"a project has at most {MAX_PATTERNS} patterns", where="patterns")
    parsed = tuple(parse(text, f"pattern {at}") for at, text in enumerate(patterns, 1))
    return SignalRules(tuple(patterns), version, at_ns, by, parsed)


def parse(text: str, where: str = "pattern") -> SignalPattern:
    """The pattern written as `text`; AppError says what is wrong with it."""
    if not 0 < len(text) <= MAX_CHARS or "\0" in text:
        raise AppError(f"a pattern has 1 to {MAX_CHARS} characters", where=where)
    pieces = _HOLE.split(text)
    literals, holes = pieces[::2], pieces[1::2]
    if any("{" in literal or "}" in literal for literal in literals):
        raise AppError("a brace stands alone", where=where)
    if not literals[0].strip() or not all(literals[1:-1]):
        hint = "begin with text, and put text between two holes"
        raise AppError("nothing tells where the numbers stand", where=where, hint=hint)
    names, meanings = _names(holes, where)
    if not names:
        raise AppError("a pattern reads at least one number", where=where, hint="loss={loss}")
    if len(holes) > MAX_HOLES or holes.count("any") > MAX_ANY:
        hint = "of them one for any text"
        raise AppError(f"a pattern has at most {MAX_HOLES} holes", where=where, hint=hint)
    parts = [re.escape(literals[0])]
    for hole, literal in zip(holes, literals[1:], strict=True):
        parts += [_regex(hole), re.escape(literal)]
    longest = max(literals, key=len)
    series = tuple(PREFIX + name for name in names)
    return SignalPattern(text, longest, series, meanings, re.compile("".join(parts)))


def _names(holes: Sequence[str], where: str) -> tuple[list[str], dict[str, str]]:
    """The names that are kept, and series -> meaning where one is said."""
    names, meanings = [], {}
    for hole in holes:
        if hole in HOLES:
            continue
        known = _NAME.fullmatch(hole)
        if known is None or known[1] in HOLES:
            hint = f"a name such as loss, or {', '.join(HOLES)}"
            raise AppError(f"{{{hole[:40]}}} is no hole", where=where, hint=hint)
        if known[2] is not None and known[2] not in _MEANINGS:
            hint = ", ".join(Meaning)
            raise AppError(f'"{known[2]}" is no way to compare', where=where, hint=hint)
        names.append(known[1])
        if known[2] is not None:
            meanings[PREFIX + known[1]] = known[2]
    if len({*names}) < len(names) or holes.count("step") > 1:
        raise AppError("a name stands there twice", where=where)
    return names, meanings


def _regex(hole: str) -> str:
    if hole == "step":
        return f"(?P<step>{_WHOLE})"
    if hole in HOLES:
        return f"(?:{_REAL})" if hole == "number" else _ANY
    return f"(?P<{hole.partition(':')[0]}>{_REAL})"
