"""What of a line a query speaks of, and what of a query an error speaks of. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import re2

from apps.logs.domain.query.querytext import QueryText
from apps.logs.domain.query.ranksets import BadQuery

MAX_MARKS = 50
MAX_MARKED_CHARS = 20_000
"""Marks are looked for up to here: a line that is longer is shown cut anyway."""

_TOKEN = re.compile(r'/(?:[^/\\]|\\.)+/\w*(?=\s|$)|(?:"(?:\\.|[^"\\])*"?|[^\s"])+')
_ALIASES = {"node": "node|host", "level": "level|severity|sev", "source": "source|file"}


_STAMP = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?:?[ \t]?(?=.)"
)


def stamp_of(text: str) -> str:
    """The date and time a line begins with and the one space behind; "" if none."""
    found = _STAMP.match(text)
    return found[0] if found else ""


@dataclass(frozen=True, slots=True)
class Marker:
    """Finds the parts of lines that a query asks for; made once a query.

    words: literals. regex: None if the query has none.
    """

    words: tuple[str, ...]
    ignore_case: bool
    regex: re2.Regexp | None = None

    def pieces(self, text: str) -> list[str]:
        """The text cut at its marks: plain, marked, plain, ...; joined they are the text again.

        At most MAX_MARKS marks, none that overlap, in the first MAX_MARKED_CHARS characters.
        """
        if not self.words and self.regex is None:
            return [text]
        found: list[str] = []
        end = 0
        for start, stop in sorted(self._spans(text[:MAX_MARKED_CHARS])):
            if start >= end and stop > start and len(found) < 2 * MAX_MARKS:
                found += [text[end:start], text[start:stop]]
                end = stop
        return [*found, text[end:]]

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        folded = text.lower() if self.ignore_case else text
        if len(folded) != len(text):
            folded = text
        for word in self.words:
            at = folded.find(word)
            while at >= 0:
                yield at, at + len(word)
                at = folded.find(word, at + len(word))
        if self.regex is not None:
            for match in self.regex.finditer(text):
                yield match.start(), match.end()


def marker(parts: QueryText, text: str = "") -> Marker:
    """The marker of a query's words and regex, and of `text`. The regex has been compiled before.

    A regex that RE2 takes for bytes only marks nothing.
    """
    words = tuple(filter(None, (*parts.words, text)))
    if parts.ignore_case:
        words = tuple(word.lower() for word in words)
    return Marker(words, parts.ignore_case, _regex(parts))


def _regex(parts: QueryText) -> re2.Regexp | None:
    if not parts.regex:
        return None
    options = re2.Options()
    options.case_sensitive = not parts.ignore_case
    options.log_errors = False
    try:
        return re2.compile(parts.regex, options)
    except re2.error:
        return None


def fault_at(text: str, error: BadQuery) -> tuple[int, int]:
    """Where in the query the part is that an error names: (start, end); all of it if unknown.

    A key that is given twice is wrong where it comes again.
    """
    name = error.where.strip("/")
    places = [m.span() for m in _TOKEN.finditer(text) if _speaks_of(m[0], name)]
    if not places:
        return 0, len(text)
    return places[-1] if "twice" in error.message else _first_at_fault(text, places, error.message)


def _first_at_fault(text: str, places: list[tuple[int, int]], message: str) -> tuple[int, int]:
    """The part of the first place that the message quotes, else all of it."""
    start, end = places[0]
    quoted = re.search(r'"([^"]+)"', message)
    at = text.find(quoted[1], start, end) if quoted else -1
    return (at, at + len(quoted[1])) if quoted and at >= 0 else (start, end)


def _speaks_of(token: str, name: str) -> bool:
    if name == "regex":
        return token.startswith("/")
    names = _ALIASES.get(name, re.escape(name))
    return re.match(rf"(?:{names})(?:>=|<=|=|:)", token, re.IGNORECASE) is not None
