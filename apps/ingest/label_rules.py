"""Rules of a project for its own labels: `pod` is `{run}-worker-{rank}`. Plain Python.

A pattern is text with holes and no regular expression: no rule may cost more than a moment,
whatever a sender writes into a label.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.core.errors import AppError
from apps.ingest.labels import (
    MAX_CHANNEL,
    MAX_NODE,
    MAX_SOURCE,
    Rule,
    Unreadable,
    is_run_key,
    normal,
)

MAX_RULES: Final = 50
MAX_CHARS: Final = 200
MAX_WIDE: Final = 2
MAX_VALUE_CHARS: Final = 512
"""Of a longer value no rule of a project says anything: two wide holes cost its length squared."""
HOLES: Final = {
    "run": "the key of the run",
    "launch": "names one start of the job",
    "attempt": "the number of an announced attempt",
    "rank": "the global rank",
    "local_rank": "the rank on its node",
    "node": "the machine",
    "source": "the file or program",
    "channel": "stdout, stderr, …",
    "number": "digits, not kept",
    "any": "any text, not kept",
}
_NUMBERS: Final = frozenset({"attempt", "rank", "local_rank"})
_UNKEPT: Final = frozenset({"number", "any"})
_MOST: Final = {"node": MAX_NODE, "source": MAX_SOURCE, "channel": MAX_CHANNEL, "launch": 300}
_HOLE = re.compile(r"\{([a-z_]*)\}")


@dataclass(frozen=True, slots=True)
class OwnRule:
    """label: as shippers write it. pattern: the whole value, with holes."""

    label: str
    pattern: str


def checked(rules: Sequence[OwnRule]) -> tuple[OwnRule, ...]:
    """The rules, if each can be read; AppError names the first that cannot."""
    if len(rules) > MAX_RULES:
        raise AppError(f"more than {MAX_RULES} rules", where="rules")
    for at, rule in enumerate(rules, 1):
        if not normal(rule.label) or len(rule.label) > MAX_CHARS:
            raise AppError("a rule names a label", where=f"rule {at}", hint="such as pod")
        _compiled(rule.pattern, f"rule {at}")
    return tuple(rules)


def rules_of(own: Sequence[OwnRule]) -> list[Rule]:
    """The same as rows of the table of labels."""
    return [Rule(normal(one.label), _reader(one.pattern)) for one in own]


def _compiled(text: str, where: str) -> re.Pattern[str]:
    if not 0 < len(text) <= MAX_CHARS:
        raise AppError(f"a pattern has 1 to {MAX_CHARS} characters", where=where)
    pieces = _HOLE.split(text)
    literals, holes = pieces[::2], pieces[1::2]
    known = ", ".join(f"{{{hole}}}" for hole in HOLES)
    unknown = [hole for hole in holes if hole not in HOLES]
    if unknown or any("{" in literal or "}" in literal for literal in literals):
        raise AppError(f"holes are {known}, nothing else", where=where)
    kept = [hole for hole in holes if hole not in _UNKEPT]
    if not kept or len(kept) != len(set(kept)):
        raise AppError("a pattern tells at least one thing, and each once", where=where)
    if sum(hole not in _NUMBERS | {"number"} for hole in holes) > MAX_WIDE:
        raise AppError(f"a pattern has at most {MAX_WIDE} holes for text", where=where)
    if any(not between for between in literals[1:-1]):
        raise AppError("something stands between two holes", where=where)
    parts = [re.escape(literals[0])]
    for hole, literal in zip(holes, literals[1:], strict=True):
        parts += [_piece(hole), re.escape(literal)]
    return re.compile("".join(parts), re.DOTALL)


def _piece(hole: str) -> str:
    body = "[0-9]{1,9}" if hole in _NUMBERS | {"number"} else ".+?"
    return f"(?:{body})" if hole in _UNKEPT else f"(?P<{hole}>{body})"


def _reader(pattern: str) -> Callable[[str], Mapping[str, Any]]:
    compiled = _compiled(pattern, "pattern")

    def reads(value: str) -> Mapping[str, Any]:
        found = compiled.fullmatch(value) if len(value) <= MAX_VALUE_CHARS else None
        if found is None:
            return {}
        told = found.groupdict()
        if "run" in told and not is_run_key(told["run"]):
            raise Unreadable(value)
        return {
            name: int(text) if name in _NUMBERS else text[: _MOST.get(name, len(text))]
            for name, text in told.items()
        }

    return reads
