"""Fault classes that a project adds to the built-in ones: what they are, and which are allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.core.errors import Refused
from apps.core.records import Severity
from apps.logs.domain.query.literals import Required
from apps.logs.domain.query.ranksets import BadQuery
from apps.logs.domain.query.regexes import LineRegex

MAX_CLASSES = 100
MAX_PATTERNS = 8
MAX_PATTERN_CHARS = 500
MAX_TITLE_CHARS = 120
MAX_ACTION_CHARS = 500
MIN_LITERAL_CHARS = 3
MAX_INSTRUCTIONS = 1_000
"""Of a compiled pattern. A text costs at most so many steps a byte, whatever it says."""
_MAX_REGEX_BYTES = 1 << 18
_KEY = re.compile(r"[a-z][a-z0-9_]{1,39}")

ROLE_WORDS: Mapping[str, str] = {
    "cause": "can start a failure",
    "symptom": "follows from one elsewhere, never the first",
    "either": "cause or symptom; the order of events tells",
    "confirm": "only supports another line",
}
LAYERS = (
    "app", "data", "numerics", "checkpoint", "storage", "gpu", "host", "network", "comm", "process",
    "scheduler", "perf",
)  # fmt: skip
BLAMES: Mapping[str, str] = {
    "user_code": "the training code",
    "user_config": "the configuration",
    "user_data": "the data",
    "host_hardware": "the host's hardware",
    "host_software": "the host's software",
    "network": "the network",
    "storage": "the storage",
    "scheduler": "the scheduler",
    "unknown": "not known",
}
SEVERITIES: Mapping[str, int] = {
    "warning": Severity.WARNING,
    "error": Severity.ERROR,
    "critical": Severity.CRITICAL,
}


class BadFaultClass(Refused):
    """A fault class that cannot be used. where: which, and what of it."""


@dataclass(frozen=True, slots=True)
class OwnClass:
    """One class as people write it. patterns: RE2, looked for in a line after its prefixes; one
    that matches is enough. severity: the least that its lines have from then on. on: False keeps it
    without using it."""

    key: str
    title: str
    patterns: tuple[str, ...]
    role: str = "cause"
    layer: str = "app"
    blame: str = "unknown"
    action: str = ""
    severity: str = "error"
    on: bool = True


@dataclass(frozen=True, slots=True)
class OwnClasses:
    """What a project says. The first class that matches a line takes it, before any built-in one.

    off: built-in classes that take no line here. version: grows with each change, 0 before the
    first. unread_lines: of this version, those that took too long (ownmatching.py).
    """

    classes: tuple[OwnClass, ...] = ()
    off: tuple[str, ...] = ()
    version: int = 0
    changed_at_ns: int = 0
    changed_by: str = ""
    reason: str = ""
    unread_lines: int = 0


def class_of(said: Mapping[str, Any]) -> OwnClass:
    """The class that dataclasses.asdict() gave."""
    return OwnClass(**{**said, "patterns": tuple(said["patterns"])})


def checked(
    classes: Sequence[OwnClass], off: Iterable[str], built_in: Mapping[str, bool]
) -> tuple[tuple[OwnClass, ...], tuple[str, ...]]:
    """The same without spaces around texts; BadFaultClass says what cannot be used, and where.

    built_in: id of each class -> whether lines are found by it alone, so that it can be off.
    """
    if len(classes) > MAX_CLASSES:
        raise BadFaultClass(
            f"more than {MAX_CLASSES} classes", where="classes", hint="remove some, or merge them"
        )
    kept: dict[str, OwnClass] = {}
    for one in classes:
        fault = _checked(one)
        if fault.key in kept or fault.key in built_in:
            whose = "twice" if fault.key in kept else "by a built-in class"
            raise BadFaultClass(
                f"the key {fault.key!r} is used {whose}", where="key", hint="choose another"
            )
        kept[fault.key] = fault
    ids = tuple(sorted(set(off)))
    for wrong in (one for one in ids if not built_in.get(one)):
        known = wrong in built_in
        raise BadFaultClass(
            f"{wrong!r} {'cannot be switched off' if known else 'is no built-in class'}",
            where="off",
            hint="the rule itself needs it" if known else "see the list of built-in classes",
        )
    return tuple(kept.values()), ids


def _checked(one: OwnClass) -> OwnClass:
    if not _KEY.fullmatch(one.key):
        raise BadFaultClass(
            f"{one.key[:60]!r} is no key",
            where="key",
            hint="2 to 40 of a-z, 0-9 and _, a letter first",
        )
    where = f"class {one.key}"
    title, action = one.title.strip(), one.action.strip()
    _check_text(title, MAX_TITLE_CHARS, f"{where}, title", needed=True)
    _check_text(action, MAX_ACTION_CHARS, f"{where}, action", needed=False)
    choices = {"role": ROLE_WORDS, "layer": LAYERS, "blame": BLAMES, "severity": SEVERITIES}
    for name, allowed in choices.items():
        if getattr(one, name) not in allowed:
            raise BadFaultClass(
                f"{getattr(one, name)[:60]!r} is no {name}",
                where=f"{where}, {name}",
                hint=f"use one of {', '.join(allowed)}",
            )
    patterns = tuple(pattern for pattern in one.patterns if pattern.strip())
    check_count(patterns, where)
    for number, pattern in enumerate(patterns, 1):
        compiled(pattern, f"{where}, pattern {number}")
    return OwnClass(
        one.key, title, patterns, one.role, one.layer, one.blame, action, one.severity, one.on
    )


def check_count(patterns: Sequence[str], where: str) -> None:
    """BadFaultClass unless a class may have so many."""
    if not 1 <= len(patterns) <= MAX_PATTERNS:
        raise BadFaultClass(
            f"{len(patterns)} patterns", where=where, hint=f"write 1 to {MAX_PATTERNS} of them"
        )


def _check_text(text: str, most: int, where: str, *, needed: bool) -> None:
    if needed and not text:
        raise BadFaultClass("is empty", where=where, hint="say in a few words what happened")
    if len(text) > most or "\0" in text:
        raise BadFaultClass(
            f"has {len(text)} characters, or one that cannot be stored",
            where=where,
            hint=f"use at most {most}",
        )


def compiled(pattern: str, where: str = "pattern") -> LineRegex:
    """The pattern, ready to search. BadFaultClass if it is too long, too large, cannot be read, or
    holds no plain text by which lines are found."""
    if len(pattern) > MAX_PATTERN_CHARS or "\0" in pattern or "\n" in pattern:
        raise BadFaultClass(
            f"is longer than {MAX_PATTERN_CHARS} characters, or has a line break",
            where=where,
            hint="match the part of the line that tells",
        )
    try:
        regex = LineRegex(pattern, max_bytes=_MAX_REGEX_BYTES)
    except BadQuery as error:
        raise BadFaultClass(error.message, where=where, hint=error.hint) from error
    if regex.instructions > MAX_INSTRUCTIONS:
        raise BadFaultClass(
            "is too large for every line that comes",
            where=where,
            hint="write .* where a repetition such as {0,500} stands",
        )
    if literals_of(regex.needs) is None:
        raise BadFaultClass(
            f"no plain text of {MIN_LITERAL_CHARS} characters is in every line it matches",
            where=where,
            hint="add a word that such a line always has: lines are found by it",
        )
    return regex


def literals_of(needs: Required) -> tuple[str, ...] | None:
    """Texts of which every match holds one, as long as possible; None if one may be too short."""
    best = max(needs.clauses, key=lambda clause: min(map(len, clause)), default=("",))
    return best if min(map(len, best)) >= MIN_LITERAL_CHARS else None
