"""Use cases of patterns: what a run says, what of it is new, and what good runs say too."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from apps.core.records import Severity
from apps.logs.domain.pattern.patterns import (
    GoodHour,
    Known,
    Pattern,
    Spread,
    good_hour,
    new_templates,
    news,
    patterns,
    spread_of,
    trouble_ns,
)
from apps.logs.domain.pattern.rankbits import bits_between
from apps.logs.domain.pattern.tally import NS_HOUR, Tally, fold
from apps.logs.domain.pattern.templates import OTHER
from apps.logs.store import ordinary as ordinary_store
from apps.logs.store import templates as store
from apps.runs import store as runs
from apps.runs.records import EndedWell

MAX_HOUR = 2**31 - 1
SETTLED_NS = 600_000_000_000
"""An attempt that ended well is taken over once its late lines are there."""
MAX_JUDGED = 200


@dataclass(frozen=True, slots=True)
class PatternQuery:
    """Which patterns of one attempt. None or () = no condition.

    from_ns, to_ns: whole hours that they lie in. rank_spans: said by one of these ranks; counts
    are those of all ranks. template: only the pattern that this template belongs to. onset_ns:
    when the attempt's incident began. new_only: those since the last good hour, best first.
    """

    run_id: int
    attempt: int
    from_ns: int | None = None
    to_ns: int | None = None
    rank_spans: tuple[tuple[int, int], ...] = ()
    min_severity: int = Severity.DEBUG
    template: int | None = None
    onset_ns: int | None = None
    new_only: bool = False
    hide_ordinary: bool = False
    limit: int = 200


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns that a query asked for, those with the most lines first.

    total: how many there are without the limit; lines: of all patterns of the range, whatever was
    asked. new: how many are new. ranks: bit r is a rank of the attempt, as far as it is known.
    good: None if nothing was counted; spread: of the sparks.
    """

    found: tuple[Pattern, ...]
    total: int
    lines: int
    new: int
    ranks: int
    good: GoodHour | None = None
    spread: Spread | None = None


def read_patterns(query: PatternQuery) -> Patterns:
    """The patterns of an attempt. Cost: about 20 us a template and 5 ms."""
    low, high = _hours(query)
    counted = store.read_tally(query.run_id, query.attempt, low, high)
    everything = counted if query.from_ns is query.to_ns is None else _all(query)
    if not len(counted):
        return Patterns((), 0, 0, 0, 0)
    run = runs.run_by_id(query.run_id)
    seen = {int(template) for template in everything.rows["template"]}
    known = Known(
        texts=store.texts(query.run_id),
        ordinary=ordinary_store.ordinary(run.project, seen),
        earlier=store.said_before(query.run_id, query.attempt),
    )
    good = good_hour(
        int(everything.rows["first_ns"].min()),
        int(everything.rows["last_ns"].max()),
        onset_ns=query.onset_ns,
        error_ns=trouble_ns(everything, known.ordinary),
    )
    ranks = _ranks(query, everything)
    new = new_templates(everything, known, good)
    found = patterns(counted, known, new, ranks.bit_count())
    wanted = _wanted(query, found)
    return Patterns(
        found=tuple(wanted[: query.limit]),
        total=len(wanted),
        lines=int(counted.rows["lines"].sum()),
        new=sum(one.new for one in found),
        ranks=ranks,
        good=good,
        spread=spread_of(counted),
    )


def _hours(query: PatternQuery) -> tuple[int, int]:
    low = 0 if query.from_ns is None else query.from_ns // NS_HOUR
    high = MAX_HOUR if query.to_ns is None else query.to_ns // NS_HOUR
    return max(low, -MAX_HOUR), min(high, MAX_HOUR)


def _all(query: PatternQuery) -> Tally:
    return store.read_tally(query.run_id, query.attempt, -MAX_HOUR, MAX_HOUR)


def _ranks(query: PatternQuery, everything: Tally) -> int:
    """The ranks of the attempt: as many as were said or placed, and all that spoke."""
    spoke = 0
    for bits in everything.sets:
        spoke |= bits
    count = runs.rank_count(query.run_id, query.attempt)
    return spoke | bits_between([(0, count - 1)])


def _wanted(query: PatternQuery, found: list[Pattern]) -> list[Pattern]:
    asked = bits_between(query.rank_spans)
    return [
        one
        for one in (news(found) if query.new_only else found)
        if one.worst >= query.min_severity
        and (not query.rank_spans or one.ranks & asked)
        and (query.template is None or query.template in one.templates)
        and not (query.hide_ordinary and one.ordinary)
    ]


def learn_ordinary(now_ns: int) -> int:
    """Takes over the templates of attempts that ended well as ordinary; of how many attempts."""
    ended = runs.ended_well(now_ns - SETTLED_NS, MAX_JUDGED * 10)
    waiting = ordinary_store.unjudged([(one.run_id, one.attempt) for one in ended])
    learned = 0
    for one in ended:
        if (one.run_id, one.attempt) in waiting and learned < MAX_JUDGED:
            learned += _learn(one)
    return learned


def _learn(one: EndedWell) -> bool:
    counted = store.read_tally(one.run_id, one.attempt, -MAX_HOUR, MAX_HOUR)
    said = {int(t) for t in fold([counted], whole=True).rows["template"]} - {OTHER}
    with transaction.atomic():
        return ordinary_store.add_ordinary(one.project, one.run_id, one.attempt, one.ended_ns, said)
