"""Patterns of log lines as pages show them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.http import urlencode

from apps.core.records import Severity
from apps.logs.domain.pattern.patterns import GoodHour, Pattern, Since
from apps.logs.domain.pattern.rankbits import spans_of
from apps.logs.domain.pattern.templates import OTHER
from apps.logs.domain.query.ranksets import say_ranks
from apps.logs.patterns import PatternQuery, read_patterns

NS = 10**9
MAX_SPANS = 8
MAX_NEWS = 6
MAX_IDS = 90
_WILD = re.compile(r"(<(?:num|hex|ip|path|time|id|\*)>|#)")
SINCE = {
    Since.INCIDENT: "it ends ten minutes before the incident began",
    Since.ERROR: "it ends ten minutes before errors of new kinds began to come",
    Since.NOW: "nothing is wrong: it is the hour before the newest one",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One pattern. pieces: (whether it varies, text). absent: spans of ranks, "" if most are.

    lead_s: how long the first rank was alone, None if no other said it. query: of its lines, "" if
    they cannot be told from others.
    """

    one: Pattern
    level: str
    pieces: tuple[tuple[bool, str], ...]
    ranks: int
    world: int
    who: str
    absent: str
    absent_count: int
    lead_s: float | None
    query: str


def shown(one: Pattern, attempt: int, ranks: int) -> Shown:
    """A pattern of an attempt with these ranks (bit r is rank r)."""
    count, missing = one.ranks.bit_count(), ranks & ~one.ranks
    most = count * 2 > ranks.bit_count()
    ids = ",".join(str(template) for template in one.templates[:MAX_IDS])
    asked = [("attempt", str(attempt)), ("q", f"template:{ids}")]
    return Shown(
        one=one,
        level=Severity(one.worst).name.lower(),
        pieces=_pieces(one.text),
        ranks=count,
        world=ranks.bit_count(),
        who=say_some(one.ranks),
        absent=say_some(missing) if most else "",
        absent_count=missing.bit_count() if most else 0,
        lead_s=None if one.lead_ns is None else one.lead_ns / NS,
        query="" if OTHER in one.templates else "?" + urlencode(asked),
    )


def news_of(run_id: int, attempt: int, onset_ns: int) -> list[Shown]:
    """What an attempt said newly around the onset of an incident, best first; a few."""
    query = PatternQuery(
        run_id=run_id,
        attempt=attempt,
        onset_ns=onset_ns,
        new_only=True,
        min_severity=Severity.WARNING,
        limit=MAX_NEWS,
    )
    found = read_patterns(query)
    return [shown(one, attempt, found.ranks) for one in found.found]


def say_some(ranks: int) -> str:
    """`0-7,64` and, where there are more spans than a line holds, an ellipsis."""
    spans, complete = spans_of(ranks, MAX_SPANS)
    return say_ranks(spans) + ("" if complete else ",…")


def _pieces(text: str) -> tuple[tuple[bool, str], ...]:
    """The text cut where something varies; an empty line by that name."""
    parts = _WILD.split(" ".join(text.split()) or "(empty line)")
    return tuple((number % 2 == 1, part) for number, part in enumerate(parts) if part)


def reason(good: GoodHour) -> str:
    """Why this is the last good hour."""
    return SINCE[good.since]
