"""What an address of the logs page asks for, and the address that says it again. Values only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from apps.core.records import Severity
from apps.core.times import read_time_ns
from apps.core.words import whole
from apps.dashboard.addresses import query_string
from apps.logs.domain.query.querytext import QueryText, parse_query, say_query
from apps.logs.domain.query.ranksets import BadQuery

NEWEST, OLDEST = "newest", "oldest"
_NO_CONDITION: dict[str, dict[str, Any]] = {
    "rank": {"rank_spans": ()},
    "node": {"nodes": ()},
    "level": {"min_severity": Severity.DEBUG, "max_severity": Severity.CRITICAL},
    "step": {"from_step": None, "to_step": None},
    "source": {"source": ""},
    "template": {"templates": ()},
    "text": {},
}
"""Fields that a form or an old link may send beside the query, and what each says when empty.

A form also sends `had_` fields, what it showed: a field that nobody touched says nothing."""
_OLD_NAMES = {"severity": "level", "ranks": "rank", "host": "node"}


@dataclass(frozen=True, slots=True)
class LogAsk:
    """The whole state of the page, as its address holds it.

    text: the query. attempt None: the newest. from_ns, to_ns: inclusive. order: which end of the
    range comes first. at: cursor of one line to show amid its neighbours. after, before: cursors
    to page on from, for visitors without JavaScript.
    """

    text: str = ""
    attempt: int | None = None
    from_ns: int | None = None
    to_ns: int | None = None
    order: str = NEWEST
    at: str = ""
    after: str = ""
    before: str = ""

    def address(self, **changes: object) -> str:
        """`?...` of the same question with these changes, without a place in its lines unless it is
        one of them (at, after, before); "?" alone for a question that asks for nothing."""
        base = replace(self, at="", after="", before="")
        asked = replace(base, **changes)  # type: ignore[arg-type]
        words = query_string(dict(_parameters(asked)))
        return f"?{words}" if words else "?"


def ask_of(sent: Mapping[str, str]) -> LogAsk:
    """The state that an address holds; what is senseless in it counts as absent."""
    return LogAsk(
        text=_query_text(sent),
        attempt=whole(sent.get("attempt", ""), 2**31 - 1),
        from_ns=read_time_ns(sent.get("from", "")),
        to_ns=read_time_ns(sent.get("to", "")),
        order=OLDEST if sent.get("order") == OLDEST else NEWEST,
        at=sent.get("at", ""),
        after=sent.get("after", ""),
        before=sent.get("before", ""),
    )


def _parameters(ask: LogAsk) -> list[tuple[str, str | int]]:
    return [
        ("q", ask.text),
        ("attempt", "" if ask.attempt is None else ask.attempt),
        ("from", moment(ask.from_ns)),
        ("to", moment(ask.to_ns)),
        ("order", "" if ask.order == NEWEST else ask.order),
        ("at", ask.at),
        ("after", ask.after),
        ("before", ask.before),
    ]


def has_controls(sent: Mapping[str, str]) -> bool:
    """Whether an address says parts of the query in fields of their own."""
    return any(name.removeprefix("had_") in {*_NO_CONDITION, *_OLD_NAMES} for name in sent)


def _query_text(sent: Mapping[str, str]) -> str:
    """The query, with what single fields of a form or an old link say written into it."""
    text = sent.get("q", "").strip()
    said = {_OLD_NAMES.get(name, name): value.strip() for name, value in sent.items()}
    fields = {
        name: value
        for name, value in said.items()
        if name in _NO_CONDITION and value != said.get(f"had_{name}")
    }
    if not fields:
        return text
    try:
        parts = parse_query(text)
    except BadQuery:
        pieces = [text]
    else:
        empty = {key: none for name in fields for key, none in _NO_CONDITION[name].items()}
        pieces = [say_query(replace(parts, **empty))]
    pieces += [_word(name, value) for name, value in fields.items() if value]
    return " ".join(piece for piece in pieces if piece)


def _word(name: str, value: str) -> str:
    """What a field says, as a word of the query."""
    if name == "rank":
        return f"rank:{','.join(value.replace(',', ' ').split()) or '?'}"
    if name == "level":
        return "" if value.lower() == "debug" else f"level>={_quoted(value)}"
    if name == "text":
        return say_query(QueryText(words=(value,)))
    return f"{name}:{_quoted(value)}"


def _quoted(value: str) -> str:
    if not re.search(r'[\s"\\]', value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def moment(time_ns: int | None) -> str:
    """The same moment as text, with as many digits as it needs; "" for None."""
    if time_ns is None:
        return ""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    if not 0 <= seconds < 253_402_300_800:
        return str(time_ns)
    day = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{day}.{rest:09d}".rstrip("0").rstrip(".") + "Z"
