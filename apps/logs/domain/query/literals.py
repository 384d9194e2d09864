"""What every match of a regex holds: pieces of text that a filter can ask for.

A reader of RE2's syntax that gives up where it is not sure: it may say less than is true, never
more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_CHOICES = 32
_REPEAT = re.compile(r"(?:[*+?]|\{(\d+)(?:,\d*)?\})\??")
_GROUP = re.compile(r"\((?:\?(?::|P?<\w+>))?")
_FLAGS = re.compile(r"\(\?([imsU]+)\)")
_CLASS = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)

Clause = tuple[str, ...]
"""Texts of which a match holds at least one."""


@dataclass(frozen=True, slots=True)
class Required:
    """What a match holds: one text of each clause. ignore_case: it may be in another case."""

    clauses: tuple[Clause, ...] = ()
    ignore_case: bool = False


class _Unsure(Exception):
    """Syntax that is not followed."""


def required(pattern: str) -> Required:
    """The texts that every match of `pattern` holds; none if that is not clear."""
    flags = _FLAGS.match(pattern)
    ignore_case = flags is not None and "i" in flags[1]
    reader = _Reader(pattern, flags.end() if flags is not None else 0)
    try:
        clauses = _of_any(reader.alternatives())
    except _Unsure:
        return Required()
    return Required(tuple(clauses) if reader.at == len(pattern) else (), ignore_case)


@dataclass(slots=True)
class _Branch:
    """One alternative while it is read: what it needs so far, and the text that is growing, with
    every way in which it may. whole: there was nothing but text."""

    clauses: list[Clause] = field(default_factory=list)
    texts: Clause = ("",)
    whole: bool = True

    def grow(self, choices: Clause) -> None:
        if len(self.texts) * len(choices) > MAX_CHOICES:
            self.end_text()
        self.texts = tuple(text + more for text in self.texts for more in choices)

    def end_text(self) -> None:
        if all(self.texts):
            self.clauses.append(self.texts)
        self.texts, self.whole = ("",), False

    def needs(self) -> list[Clause]:
        """What it needs, the text at its end as well."""
        return [*self.clauses, self.texts] if all(self.texts) else self.clauses

    def best(self) -> Clause | None:
        """The clause that says most: its shortest text is the longest."""
        return max(self.needs(), key=lambda clause: min(map(len, clause)), default=None)


def _of_any(branches: list[_Branch]) -> list[Clause]:
    """What a text needs that is one of these alternatives."""
    if len(branches) == 1:
        return branches[0].needs()
    best = [branch.best() for branch in branches]
    texts = tuple(text for clause in best if clause is not None for text in clause)
    return [texts] if None not in best and len(texts) <= MAX_CHOICES else []


@dataclass(slots=True)
class _Reader:
    pattern: str
    at: int

    def alternatives(self) -> list[_Branch]:
        """A group's inside, up to its `)` or the end."""
        branches = [self.branch()]
        while self.at < len(self.pattern) and self.pattern[self.at] == "|":
            self.at += 1
            branches.append(self.branch())
        return branches

    def branch(self) -> _Branch:
        """One alternative."""
        branch = _Branch()
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            if self.pattern[self.at] == "(":
                self.group(branch)
            else:
                self.atom(branch)
        return branch

    def atom(self, branch: _Branch) -> None:
        """One character or class with its repetitions."""
        text = self.character()
        repeated = self.repeat()
        if text and repeated is not False:
            branch.grow((text,))
        if repeated is not None or not text:
            branch.end_text()

    def group(self, branch: _Branch) -> None:
        """A group with its repetitions; the reader stands behind it."""
        match = _GROUP.match(self.pattern, self.at)
        if match is None or self.pattern.startswith("?", match.end()):
            raise _Unsure
        self.at = match.end()
        inside = self.alternatives()
        if not self.pattern.startswith(")", self.at):
            raise _Unsure
        self.at += 1
        repeated = self.repeat()
        choices = tuple(text for one in inside for text in one.texts)
        if repeated is None and all(one.whole for one in inside) and len(choices) <= MAX_CHOICES:
            branch.grow(choices)
            return
        branch.end_text()
        if repeated is not False:
            branch.clauses += _of_any(inside)

    def repeat(self) -> bool | None:
        """None: no repetition; else whether the atom is there at least once."""
        found: bool | None = None
        while (match := _REPEAT.match(self.pattern, self.at)) is not None:
            self.at = match.end()
            once = match[0][0] == "+" or (match[1] is not None and int(match[1]) > 0)
            found = once if found is None else found and once
        return found

    def character(self) -> str:
        """The character that stands for itself here, or "" for anything else."""
        char = self.pattern[self.at]
        if char == "[":
            match = _CLASS.match(self.pattern, self.at)
            if match is None:
                raise _Unsure
            self.at = match.end()
            return ""
        self.at += 1
        if char == "\\":
            return self.escape()
        if char in "*+?":
            raise _Unsure
        return "" if char in ".^$" else char

    def escape(self) -> str:
        char = self.pattern[self.at : self.at + 1]
        self.at += 1
        if char in "dDsSwWbBAzC" and char:
            return ""
        if not char or char.isalnum() or not char.isascii():
            raise _Unsure
        return char
