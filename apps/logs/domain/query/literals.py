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
        clauses = reader.alternatives()
    except _Unsure:
        return Required()
    return Required(tuple(clauses) if reader.at == len(pattern) else (), ignore_case)


@dataclass(slots=True)
class _Branch:
    """One alternative while it is read: what it needs so far, and the text that is growing."""

    clauses: list[Clause] = field(default_factory=list)
    text: str = ""

    def end_text(self) -> None:
        if self.text:
            self.clauses.append((self.text,))
        self.text = ""

    def best(self) -> Clause | None:
        """The clause that says most: its shortest text is the longest."""
        return max(self.clauses, key=lambda clause: min(map(len, clause)), default=None)


@dataclass(slots=True)
class _Reader:
    pattern: str
    at: int

    def alternatives(self) -> list[Clause]:
        """Clauses of a group's inside, up to its `)` or the end."""
        branches = [self.branch()]
        while self.at < len(self.pattern) and self.pattern[self.at] == "|":
            self.at += 1
            branches.append(self.branch())
        if len(branches) == 1:
            return branches[0].clauses
        best = [branch.best() for branch in branches]
        texts = tuple(text for clause in best if clause is not None for text in clause)
        return [texts] if None not in best and len(texts) <= MAX_CHOICES else []

    def branch(self) -> _Branch:
        """One alternative."""
        branch = _Branch()
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            self.atom(branch)
        branch.end_text()
        return branch

    def atom(self, branch: _Branch) -> None:
        """One character, class or group with its repetitions."""
        if self.pattern[self.at] == "(":
            inside = self.group()
            branch.end_text()
            if self.repeat() is not False:
                branch.clauses += inside
            return
        text = self.character()
        repeated = self.repeat()
        if repeated is not None or not text:
            if repeated is not False:
                branch.text += text
            branch.end_text()
        else:
            branch.text += text

    def group(self) -> list[Clause]:
        """What a group needs; the reader stands behind it."""
        match = _GROUP.match(self.pattern, self.at)
        if match is None or self.pattern.startswith("?", match.end()):
            raise _Unsure
        self.at = match.end()
        clauses = self.alternatives()
        if not self.pattern.startswith(")", self.at):
            raise _Unsure
        self.at += 1
        return clauses

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
