"""A small language for metric names: text with holes, `{statistic}/layers.{layer}.{module}`.

It is no regular expression on purpose: people write rules of their own, and no rule may cost more
than time proportional to the name it looks at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from apps.core.errors import AppError

MAX_CHARS = 200
MAX_HOLES = 6
HOLES = {
    "statistic": "a known statistic, without slash or dot",
    "layer": "the number of the layer, up to five digits",
    "module": "a module path, which may itself hold the number of the layer",
    "number": "a number, not kept",
    "any": "any text, not kept",
}
MAX_STATISTIC_CHARS = 40
_REPEATABLE = frozenset({"number", "any"})
_HOLE = re.compile(r"\{([a-z]*)\}")
_NARROW = {
    "layer": r"(?P<layer>[0-9]{1,5}+)(?![0-9])",
    "number": r"[0-9]++(?:\.[0-9]++)?+",
    "statistic": rf"(?P<statistic>[^/.]{{1,{MAX_STATISTIC_CHARS}}})",
}
_WIDE = {"module": "(?P<module>.+{lazy})", "any": ".+{lazy}"}


@dataclass(frozen=True, slots=True)
class Template:
    """A pattern that is ready to match."""

    text: str
    holes: tuple[str, ...]
    _pattern: re.Pattern[str]

    def match(self, name: str) -> dict[str, str] | None:
        """hole -> what stands there, if the whole name fits; None if it does not.

        A {module} or {any} takes as little as it can, the last of them the rest. Linear in the
        length of the name: what is found before the last of them is never tried again.
        """
        found = self._pattern.match(name)
        return found.groupdict() if found else None


def parse(text: str) -> Template:
    """The template written as `text`; AppError says what is wrong with it."""
    if not 0 < len(text) <= MAX_CHARS:
        raise AppError(f"a pattern has 1 to {MAX_CHARS} characters", where="pattern")
    pieces = _HOLE.split(text)
    literals, holes = pieces[::2], pieces[1::2]
    if any("{" in literal or "}" in literal for literal in literals):
        raise AppError(
            "a brace stands alone", where="pattern", hint=f"holes are {_list()}, nothing else"
        )
    for hole in holes:
        if hole not in HOLES:
            raise AppError(f"{{{hole}}} is no hole", where="pattern", hint=f"use {_list()}")
        if hole not in _REPEATABLE and holes.count(hole) > 1:
            raise AppError(f"{{{hole}}} stands there twice", where="pattern", hint="use {any}")
    if len(holes) > MAX_HOLES:
        raise AppError(f"a pattern has at most {MAX_HOLES} holes", where="pattern")
    if not all(literals[1:-1]):
        raise AppError(
            "two holes touch each other", where="pattern", hint="put a slash or a dot between them"
        )
    return Template(text, tuple(holes), re.compile(_regex(literals, holes), re.DOTALL))


def _list() -> str:
    return ", ".join(f"{{{hole}}}" for hole in HOLES)


def _regex(literals: list[str], holes: list[str]) -> str:
    """Each wide hole but the last is atomic together with what follows up to the next wide one.

    So only the last one ever tries again, and what follows it is of bounded length.
    """
    last = max((at for at, hole in enumerate(holes) if hole in _WIDE), default=-1)
    parts, closing = [re.escape(literals[0])], ""
    for at, hole in enumerate(holes):
        if hole in _WIDE:
            parts.append(closing)
            closing = "" if at == last else ")"
            lazy = "" if at == last else "?"
            parts.append(("" if at == last else "(?>") + _WIDE[hole].replace("{lazy}", lazy))
        else:
            parts.append(_NARROW[hole])
        parts.append(re.escape(literals[at + 1]))
    return "".join(parts) + r"\Z"
