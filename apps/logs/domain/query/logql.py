"""The part of LogQL that Grafana's Explore and `logcli` ask with: text in, values out.

Understood: `{run="x", rank=~"1|2", level!="info"}`, the line filters `|=`, `!=`, `|~`, `!~` (with
`or`), filters on the labels of a stream (`| level="error"`), `json`, `logfmt`, `drop` and `keep`
(which change nothing here), and `count_over_time` or `rate` of that, alone or below
`sum by (...)`. Anything else raises BadQuery, which says where: a part that is left out would give
a wrong answer. Label patterns match a whole value, as in Loki.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from apps.logs.domain.query.ranksets import BadQuery
from apps.logs.domain.query.regexes import LineRegex

LABELS = ("run", "project", "attempt", "node", "rank", "source", "channel", "level")
ALIASES = {"detected_level": "level"}
MAX_CHARS = 5_000
MAX_PARTS = 50
_UNITS_NS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9,
    "h": 3600 * 10**9, "d": 86_400 * 10**9, "w": 7 * 86_400 * 10**9,
}  # fmt: skip
_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|`[^`]*`)|(?P<span>\[[^\]]*\])"""
    r"""|(?P<op>\|=|\|~|!=|!~|=~|=|\||\{|\}|\(|\)|,|\+)|(?P<word>[A-Za-z_]\w*)|(?P<number>\d+))"""
)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d|w)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_OPS = frozenset(("=", "!=", "=~", "!~"))
_LINE_OPS = frozenset(("|=", "!=", "|~", "!~"))
_HARMLESS = frozenset(("json", "logfmt", "drop", "keep"))


@dataclass(frozen=True, slots=True)
class Matcher:
    """A condition on one label; op is =, !=, =~ or !~."""

    label: str
    op: str
    value: str

    def matches(self, value: str) -> bool:
        """Whether a label with this value ("" = it has none) fulfils it."""
        if self.op in ("=~", "!~"):
            return _found(f"^(?:{self.value})$", value) == (self.op == "=~")
        return (value == self.value) == (self.op == "=")


@dataclass(frozen=True, slots=True)
class LineFilter:
    """A condition on the text: it has (op |= or |~) or has not (!= or !~) one of `values`."""

    op: str
    values: tuple[str, ...]

    def matches(self, text: str) -> bool:
        """Whether a line fulfils it."""
        found = any(
            _found(value, text) if self.op.endswith("~") else value in text for value in self.values
        )
        return found == self.op.startswith("|")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which lines."""

    matchers: tuple[Matcher, ...]
    filters: tuple[LineFilter, ...] = ()

    def on(self, label: str) -> tuple[Matcher, ...]:
        """The conditions on one label."""
        return tuple(matcher for matcher in self.matchers if matcher.label == label)

    def matches(self, labels: Mapping[str, str], text: str) -> bool:
        """Whether a line with these labels is selected."""
        return all(m.matches(labels.get(m.label, "")) for m in self.matchers) and all(
            condition.matches(text) for condition in self.filters
        )


@dataclass(frozen=True, slots=True)
class Counting:
    """count_over_time (rate: divided by the seconds) of a selection, within the last range_ns.

    by: labels that are kept; None: all of them.
    """

    selection: Selection
    range_ns: int
    rate: bool
    by: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Constant:
    """`vector(1)+vector(1)`: what Grafana asks to see whether somebody answers."""

    value: float


Query = Selection | Counting | Constant


@lru_cache(maxsize=200)
def _compiled(pattern: str) -> LineRegex:
    return LineRegex(pattern)


def _found(pattern: str, text: str) -> bool:
    return next(_compiled(pattern).matching(text.encode("utf-8", "replace")), None) is not None


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def parse_logql(text: str) -> Query:
    """What a query asks for. Raises BadQuery with the position of what is wrong."""
    if len(text) > MAX_CHARS:
        raise BadQuery(f"the query is longer than {MAX_CHARS} characters", where="query")
    return _Parser(text, _tokens(text)).whole()


def duration_ns(text: str) -> int:
    """Nanoseconds of `5m`, `1h30m`. Raises BadQuery."""
    parts = _DURATION.findall(text)
    if not parts or "".join(n + unit for n, unit in parts) != text:
        raise BadQuery(f'"{text[:40]}" is no duration', where="query", hint="such as 5m or 1h30m")
    return max(1, int(sum(float(number) * _UNITS_NS[unit] for number, unit in parts)))


def _tokens(text: str) -> list[_Token]:
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _unknown(text, at)
        kind = match.lastgroup
        found.append(_Token(kind, match[kind], match.start(kind)))
        at = match.end()
    return found


def _unknown(text: str, at: int, wanted: str = "") -> BadQuery:
    rest = text[at : at + 20].strip()
    seen = f'"{rest}"' if rest else "the end"
    return BadQuery(
        f"{seen} is not understood" if not wanted else f"{seen} stands where {wanted} should",
        where=f"query, character {at + 1}",
        hint="docs/logs.md lists the part of LogQL that is answered",
    )


class _Parser:
    """Recursive descent over the tokens of one query."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0

    def whole(self) -> Query:
        """The query; nothing may follow it."""
        query = self.query()
        if self.at < len(self.tokens):
            raise self.wrong()
        return query

    def query(self) -> Query:
        """Any query, by its first word."""
        if self.text.replace(" ", "") == "vector(1)+vector(1)":
            self.at = len(self.tokens)
            return Constant(2.0)
        if self.peek("{"):
            return self.selection()
        if self.peek("sum"):
            return self.sum()
        return self.counting(None)

    def sum(self) -> Counting:
        """`sum by (a, b) (...)` or `sum(...) by (a, b)`."""
        self.take("sum")
        by = self.grouping()
        self.take("(")
        counting = self.counting(())
        self.take(")")
        after = self.grouping() if by is None else None
        kept = by if by is not None else after if after is not None else ()
        return Counting(counting.selection, counting.range_ns, counting.rate, kept)

    def grouping(self) -> tuple[str, ...] | None:
        """The labels of `by (...)`, or None if it is not there."""
        if not self.peek("by"):
            return None
        self.take("by")
        self.take("(")
        labels = []
        while not self.peek(")"):
            labels.append(self.label())
            if not self.peek(")"):
                self.take(",")
        self.take(")")
        return tuple(dict.fromkeys(labels))

    def counting(self, by: tuple[str, ...] | None) -> Counting:
        """`count_over_time({...}[5m])` or `rate(...)`."""
        word = self.next("word", "count_over_time or rate")
        if word.text not in ("count_over_time", "rate"):
            raise _unknown(self.text, word.at)
        self.take("(")
        selection = self.selection()
        span = self.next("span", "a range such as [5m]")
        self.take(")")
        return Counting(selection, duration_ns(span.text[1:-1].strip()), word.text == "rate", by)

    def selection(self) -> Selection:
        """`{...}` and what follows it."""
        self.take("{")
        matchers = []
        while not self.peek("}"):
            matchers.append(self.matcher())
            if not self.peek("}"):
                self.take(",")
        self.take("}")
        filters: list[LineFilter] = []
        while self.at < len(self.tokens) and self.tokens[self.at].text in (*_LINE_OPS, "|"):
            if self.peek("|"):
                matchers += self.stage()
            else:
                filters.append(self.line_filter())
        if len(matchers) + len(filters) > MAX_PARTS:
            raise BadQuery(f"more than {MAX_PARTS} conditions", where="query")
        return Selection(tuple(matchers), tuple(filters))

    def stage(self) -> list[Matcher]:
        """`| level="error"`, or a stage that changes nothing here."""
        self.take("|")
        word = self.next("word", "a label or json, logfmt, drop, keep")
        if word.text not in _HARMLESS:
            self.at -= 1
            return [self.matcher()]
        while self.at < len(self.tokens) and self.tokens[self.at].kind in ("word", "string"):
            self.at += 1
            if self.peek(","):
                self.at += 1
        return []

    def matcher(self) -> Matcher:
        """`label op "value"`."""
        label = self.label()
        op = self.next("op", "=, !=, =~ or !~")
        if op.text not in _OPS:
            raise _unknown(self.text, op.at, "=, !=, =~ or !~")
        value = self.next("string", "a quoted text")
        return Matcher(label, op.text, self.pattern(value, op.text))

    def label(self) -> str:
        """The name of a label that streams have here."""
        word = self.next("word", "a label")
        name = ALIASES.get(word.text, word.text)
        if name not in LABELS and not name.startswith("__"):
            raise BadQuery(
                f'there is no label "{word.text}"',
                where=f"query, character {word.at + 1}",
                hint=f"streams have {', '.join(LABELS)}",
            )
        return name

    def line_filter(self) -> LineFilter:
        """`|= "text" or "text"`."""
        op = self.next("op", "a line filter").text
        values = [self.pattern(self.next("string", "a quoted text"), op)]
        while self.peek("or"):
            self.at += 1
            values.append(self.pattern(self.next("string", "a quoted text"), op))
        return LineFilter(op, tuple(values))

    def pattern(self, token: _Token, op: str) -> str:
        """The text of a string; a regular expression has to compile."""
        value = _unquoted(token.text)
        if op.endswith("~"):
            try:
                _compiled(value)
            except BadQuery as error:
                where = f"query, character {token.at + 1}"
                raise BadQuery(error.message, where=where, hint=error.hint) from error
        return value

    def peek(self, text: str) -> bool:
        """Whether this comes next."""
        return self.at < len(self.tokens) and self.tokens[self.at].text == text

    def take(self, text: str) -> None:
        """The next token, which has to be this."""
        if not self.peek(text):
            raise self.wrong(f'"{text}"')
        self.at += 1

    def next(self, kind: str, wanted: str) -> _Token:
        """The next token, which has to be of this kind."""
        if self.at >= len(self.tokens) or self.tokens[self.at].kind != kind:
            raise self.wrong(wanted)
        self.at += 1
        return self.tokens[self.at - 1]

    def wrong(self, wanted: str = "") -> BadQuery:
        """The error about the next token."""
        at = self.tokens[self.at].at if self.at < len(self.tokens) else len(self.text)
        return _unknown(self.text, at, wanted)


def _unquoted(text: str) -> str:
    if text.startswith("`"):
        return text[1:-1]
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1], flags=re.DOTALL)
