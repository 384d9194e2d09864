"""The query language of logs: one line of text that says which lines.

Words are text that a line must contain, `-word` must not; "double quotes" hold spaces, keys and
dashes together, and `\\"` and `\\\\` stand for themselves inside. `/regex/` (RE2 syntax, `/regex/i`
whatever the case, which then holds for the words too). Keys narrow it down:
`rank:0-7,64 node:gpu-0231,gpu-0232 level>=error level:info source:stderr.log template:17
step:100-200 attempt:2`. All conditions hold at once; a key twice is an error. What looks like a key
but is none is a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from apps.core.records import Severity
from apps.logs.domain.query.ranksets import BadQuery, Spans, parse_ranks, say_ranks
from apps.logs.domain.query.regexes import LineRegex
from apps.logs.records import LogQuery

MAX_CHARS = 2_000
MAX_WORDS = 20
MAX_NODES = 1_000
MAX_TEMPLATES = 100
MAX_STEP = 2**62
_ALIASES: Final = {"host": "node", "severity": "level", "sev": "level", "file": "source"}
_LEVELS: Final = {
    **{severity.name.lower(): severity for severity in Severity},
    "warn": Severity.WARNING,
    "fatal": Severity.CRITICAL,
}
_REGEX = re.compile(r"/((?:[^/\\]|\\.|/(?!i?(?:\s|$)))+)/(i?)(?=\s|$)")
_QUOTED = re.compile(r'(-?)"((?:[^"\\]|\\.)*)"')
_KEY = re.compile(r"([a-z]+)(>=|<=|=|:)(?=(\S*))", re.IGNORECASE)
_VALUE = re.compile(r'"((?:[^"\\]|\\.)*)"|\S*')
_WORD = re.compile(r"\S+")
_PLAIN = re.compile(r'[^\s"/\-][^\s"]*')


@dataclass(frozen=True, slots=True)
class QueryText:
    """The conditions of one query text. words: a line has all of them; without: none of them."""

    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    regex: str = ""
    ignore_case: bool = False
    rank_spans: Spans = ()
    nodes: tuple[str, ...] = ()
    min_severity: int = Severity.DEBUG
    max_severity: int = Severity.CRITICAL
    source: str = ""
    templates: tuple[int, ...] = ()
    from_step: int | None = None
    to_step: int | None = None
    attempt: int | None = None

    def into(self, query: LogQuery) -> LogQuery:
        """`query` with these conditions; its attempt stays where this names none."""
        return replace(
            query,
            words=self.words,
            without=self.without,
            regex=self.regex,
            ignore_case=self.ignore_case,
            rank_spans=self.rank_spans,
            nodes=self.nodes,
            min_severity=self.min_severity,
            max_severity=self.max_severity,
            source=self.source,
            templates=self.templates,
            from_step=self.from_step,
            to_step=self.to_step,
            attempt=query.attempt if self.attempt is None else self.attempt,
        )


def parse_query(text: str) -> QueryText:
    """The conditions of `text`; "" has none. Raises BadQuery, which names the part at fault."""
    if len(text) > MAX_CHARS:
        raise BadQuery(f"longer than {MAX_CHARS} characters", where="query", hint="shorten it")
    reader = _Reader(text)
    while reader.step():
        pass
    found = reader.fields
    if len(reader.words) + len(reader.without) > MAX_WORDS:
        raise BadQuery(f"more than {MAX_WORDS} words", where="query", hint='join some in "quotes"')
    if "regex" in found:
        LineRegex(found["regex"], ignore_case=found["ignore_case"])
    return QueryText(words=tuple(reader.words), without=tuple(reader.without), **found)


def say_query(parts: QueryText) -> str:
    """The text that parse_query() reads back as `parts`."""
    pieces = [_say_word(word) for word in parts.words]
    pieces += [f"-{_quoted(word)}" for word in parts.without]
    if parts.regex:
        pieces.append(f"/{parts.regex}/{'i' if parts.ignore_case else ''}")
    if parts.rank_spans:
        pieces.append(f"rank:{say_ranks(parts.rank_spans)}")
    if parts.nodes:
        pieces.append(f"node:{','.join(parts.nodes)}")
    pieces += _say_levels(parts)
    if parts.source:
        pieces.append(f"source:{_say_word(parts.source)}")
    if parts.templates:
        pieces.append(f"template:{','.join(map(str, parts.templates))}")
    if parts.from_step is not None or parts.to_step is not None:
        pieces.append(f"step:{_say_steps(parts.from_step, parts.to_step)}")
    if parts.attempt is not None:
        pieces.append(f"attempt:{parts.attempt}")
    return " ".join(pieces)


class _Reader:
    """Takes a query text piece by piece."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.words: list[str] = []
        self.without: list[str] = []
        self.fields: dict[str, Any] = {}

    def step(self) -> bool:
        """Take the next piece; False at the end."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        if self.at >= len(self.text):
            return False
        if not (self._regex() or self._quoted() or self._key()):
            self._word()
        return True

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        return match

    def _regex(self) -> bool:
        match = self._take(_REGEX)
        if match is not None:
            self._set("/regex/", {"regex": match[1], "ignore_case": bool(match[2])})
        return match is not None

    def _quoted(self) -> bool:
        match = self._take(_QUOTED)
        if match is not None and match[2]:
            (self.without if match[1] else self.words).append(_unquoted(match[2]))
        return match is not None

    def _key(self) -> bool:
        match = _KEY.match(self.text, self.at)
        name = match[1].lower() if match is not None else ""
        read = _READERS.get(_ALIASES.get(name, name))
        if match is None or read is None:
            return False
        self.at = match.end()
        value = self._take(_VALUE)
        text = "" if value is None else value[0] if value[1] is None else _unquoted(value[1])
        if not text:
            raise BadQuery(
                f"{name}{match[2]} has no value", where=name, hint='put it in "quotes" to search it'
            )
        if match[2] in (">=", "<=") and read is not _level:
            raise BadQuery(f"{name}{match[2]} means nothing", where=name, hint=f"write {name}:")
        self._set(name, read(text, match[2]))
        return True

    def _word(self) -> None:
        match = self._take(_WORD)
        if match is None:
            return
        word = match[0]
        if word.startswith("-") and len(word) > 1 and not word.startswith("--"):
            self.without.append(word[1:])
        else:
            self.words.append(word)

    def _set(self, name: str, values: dict[str, Any]) -> None:
        double = self.fields.keys() & values
        if double:
            raise BadQuery(f"{name} is given twice", where=name, hint="join both in one")
        self.fields |= values


def _ranks(text: str, _: str) -> dict[str, Any]:
    return {"rank_spans": parse_ranks(text)}


def _nodes(text: str, _: str) -> dict[str, Any]:
    nodes = tuple(dict.fromkeys(filter(None, text.split(","))))
    if not 0 < len(nodes) <= MAX_NODES:
        raise BadQuery(f"not 1 to {MAX_NODES} nodes", where="node", hint="write node:a,b")
    return {"nodes": nodes}


def _level(text: str, operator: str) -> dict[str, Any]:
    level = _LEVELS.get(text.lower())
    if level is None:
        known = ", ".join(severity.name.lower() for severity in Severity)
        raise BadQuery(f'"{text[:40]}" is no level', where="level", hint=f"levels are {known}")
    if operator == ">=":
        return {"min_severity": level}
    if operator == "<=":
        return {"max_severity": level}
    return {"min_severity": level, "max_severity": level}


def _source(text: str, _: str) -> dict[str, Any]:
    return {"source": text}


def _number(name: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= most):
        raise BadQuery(
            f'"{text[:40]}" is no whole number', where=name, hint=f"write {name}:17 for example"
        )
    return int(text)


def _template(text: str, _: str) -> dict[str, Any]:
    ids = dict.fromkeys(_number("template", one, 2**63 - 1) for one in text.split(","))
    if len(ids) > MAX_TEMPLATES:
        raise BadQuery(f"more than {MAX_TEMPLATES} templates", where="template", hint="ask twice")
    return {"templates": tuple(ids)}


def _attempt(text: str, _: str) -> dict[str, Any]:
    return {"attempt": _number("attempt", text, 2**31 - 1)}


def _steps(text: str, _: str) -> dict[str, Any]:
    first, dash, last = text.partition("-")
    if not dash:
        step = _number("step", text, MAX_STEP)
        return {"from_step": step, "to_step": step}
    start = _number("step", first, MAX_STEP) if first else None
    end = _number("step", last, MAX_STEP) if last else None
    if start is None and end is None:
        raise BadQuery("no step is given", where="step", hint="write step:100-200 or step:100-")
    if start is not None and end is not None and end < start:
        raise BadQuery(f'"{text}" runs backwards', where="step", hint=f"write step:{end}-{start}")
    return {"from_step": start, "to_step": end}


_READERS: Final[dict[str, Callable[[str, str], dict[str, Any]]]] = {
    "rank": _ranks,
    "node": _nodes,
    "level": _level,
    "source": _source,
    "template": _template,
    "step": _steps,
    "attempt": _attempt,
}


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _say_word(word: str) -> str:
    return word if _PLAIN.fullmatch(word) and not _KEY.match(word) else _quoted(word)


def _say_levels(parts: QueryText) -> list[str]:
    low, high = (Severity(s).name.lower() for s in (parts.min_severity, parts.max_severity))
    if low == high:
        return [f"level:{low}"]
    pieces = [f"level>={low}"] if parts.min_severity > Severity.DEBUG else []
    return pieces + ([f"level<={high}"] if parts.max_severity < Severity.CRITICAL else [])


def _say_steps(first: int | None, last: int | None) -> str:
    if first == last:
        return str(first)
    return f"{'' if first is None else first}-{'' if last is None else last}"
