"""Regular expressions over many lines at once, in time linear in the text (RE2).

What RE2 has no syntax for (lookaround, backreferences) is refused with a reason; what it has never
backtracks, so that no pattern can hold a process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import re2

from apps.logs.domain.query.literals import Required, required
from apps.logs.domain.query.ranksets import BadQuery

MAX_REGEX_CHARS = 1_000
MAX_PROGRAM_BYTES = 8 << 20
_NEEDS_A_LINE = re.compile(r"\\[AzC]")


class LineRegex:
    """One regex that is looked for in lines; `^` and `$` are the ends of a line.

    literal: the pattern stands for itself. needs: texts that every match holds. max_bytes: of the
    compiled pattern and of what it remembers while it searches. Raises BadQuery for what RE2
    cannot compile.
    """

    def __init__(
        self,
        pattern: str,
        *,
        ignore_case: bool = False,
        literal: bool = False,
        max_bytes: int = MAX_PROGRAM_BYTES,
    ) -> None:
        if len(pattern) > MAX_REGEX_CHARS:
            raise BadQuery(f"the regex is longer than {MAX_REGEX_CHARS} characters", where="regex")
        options = re2.Options()
        options.case_sensitive = not ignore_case
        options.literal = literal
        options.never_nl = options.never_capture = True
        options.log_errors = False
        options.max_mem = max_bytes
        whole = pattern if literal else f"(?m){pattern}"
        try:
            self._regex = re2.compile(whole.encode("utf-8", "replace"), options)
        except re2.error as error:
            raise BadQuery(
                f"the regex cannot be read: {_reason(error)}",
                where="regex",
                hint="the syntax is RE2's: no lookaround, no backreferences",
            ) from error
        self.needs = Required(((pattern,),), ignore_case) if literal else required(pattern)
        if ignore_case and not self.needs.ignore_case:
            self.needs = replace(self.needs, ignore_case=True)
        self._line_by_line = not literal and _NEEDS_A_LINE.search(pattern) is not None

    @property
    def instructions(self) -> int:
        """How large the compiled pattern is: the most steps that a byte of a text costs."""
        return int(self._regex.programsize)

    def finds(self, line: bytes) -> bool:
        """Whether one line matches."""
        return self._regex.search(line) is not None

    def span(self, line: bytes) -> tuple[int, int] | None:
        """Where one line matches first: (start, end) in bytes."""
        match = self._regex.search(line)
        return None if match is None else match.span()

    def matching(self, text: bytes) -> Iterator[int]:
        """Where lines match: one position inside each such line, ascending.

        text: UTF-8, lines joined by newlines.
        """
        if self._line_by_line:
            yield from self._one_by_one(text)
            return
        at = 0
        while (match := self._regex.search(text, at)) is not None:
            yield match.start()
            at = text.find(b"\n", match.start()) + 1
            if not at:
                return

    def _one_by_one(self, text: bytes) -> Iterator[int]:
        at = 0
        for line in text.split(b"\n"):
            if self._regex.search(line) is not None:
                yield at
            at += len(line) + 1


def _reason(error: re2.error) -> str:
    said = error.args[0] if error.args else b""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
