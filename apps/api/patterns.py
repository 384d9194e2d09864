"""What a run says: its log lines by pattern."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema

from apps.api.auth import needs
from apps.api.lookup import Attempt, run_of
from apps.core.errors import AppError
from apps.core.http import json_response
from apps.core.records import Severity
from apps.core.times import TIMES, read_time_ns
from apps.incidents import store as incidents
from apps.logs.domain.pattern.patterns import Pattern
from apps.logs.domain.pattern.rankbits import spans_of
from apps.logs.domain.query.ranksets import parse_ranks, say_ranks
from apps.logs.patterns import PatternQuery, read_patterns
from apps.runs import store as runs

router = Router(auth=needs("read"))
MAX_PATTERNS = 2_000
MAX_SPANS = 200
LEVELS = {one.name.lower(): one for one in Severity}


class PatternsAsk(Schema):
    """attempt: the newest if it is not given. ranks: said by one of these, as in 0-7,64.

    level: that and worse. new: only what nobody said until the last good hour was over, best first.
    ordinary: false leaves out what attempts that ended well say too. template: the pattern of it.
    """

    attempt: Attempt | None = None
    ranks: str = ""
    level: str = "debug"
    new: bool = False
    ordinary: bool = True
    template: str = ""
    limit: int = 200


@router.get(
    "/runs/{key}/patterns",
    summary="Log lines by pattern: how often, who first, which ranks, what is new",
    description="Lines that differ in numbers and names are one pattern. `from` and `to` (Unix "
    "nanoseconds or RFC 3339) count the whole hours that they lie in. `good_hour` is what `new` "
    "compares with. `first.lead_ns` is how long the first rank was alone. `absent` are ranks of "
    "the attempt that did not say it. `spark` counts lines from `spread.from_ns` on, "
    "`spread.bucket_hours` a bucket. Ids of templates are strings: they have 63 bits.",
)
def get_patterns(request: HttpRequest, key: str, ask: Query[PatternsAsk]) -> HttpResponse:
    run = run_of(key)
    newest = runs.attempt(run.id, ask.attempt)
    number = newest.number if newest is not None else ask.attempt or 0
    if ask.level not in LEVELS:
        raise AppError(f"level is one of {', '.join(LEVELS)}", where="query.level")
    page = read_patterns(
        PatternQuery(
            run_id=run.id,
            attempt=number,
            from_ns=_time_ns(request, "from"),
            to_ns=_time_ns(request, "to"),
            rank_spans=parse_ranks(ask.ranks) if ask.ranks else (),
            min_severity=LEVELS[ask.level],
            template=_template(ask.template),
            onset_ns=incidents.onset_ns(run.id, number),
            new_only=ask.new,
            hide_ordinary=not ask.ordinary,
            limit=max(1, min(ask.limit, MAX_PATTERNS)),
        )
    )
    good = page.good
    return json_response(
        {
            "run": run.key,
            "attempt": number,
            "total": page.total,
            "new": page.new,
            "lines": page.lines,
            "ranks": page.ranks.bit_count(),
            "good_hour": None if good is None else asdict(good),
            "spread": None if page.spread is None else asdict(page.spread),
            "items": [_item(one, page.ranks) for one in page.found],
        },
        Cache_Control="private, no-cache",
    )


def _item(one: Pattern, of: int) -> dict[str, Any]:
    return {
        "templates": [str(template) for template in one.templates],
        "text": one.text,
        "example": one.example,
        "level": Severity(one.worst).name.lower(),
        "lines": one.lines,
        "unranked_lines": one.unranked,
        "first": {
            "time_ns": one.first_ns,
            "rank": one.first_rank,
            "node": one.node,
            "lead_ns": one.lead_ns,
        },
        "last_ns": one.last_ns,
        "ranks": _ranks(one.ranks),
        "absent": _ranks(of & ~one.ranks),
        "spark": list(one.spark),
        "ordinary": one.ordinary,
        "new": one.new,
        "score": one.score,
    }


def _ranks(bits: int) -> dict[str, Any]:
    spans, complete = spans_of(bits, MAX_SPANS)
    return {"count": bits.bit_count(), "spans": say_ranks(spans), "complete": complete}


def _template(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:20]) < 2**63):
        raise AppError(f'"{text[:40]}" is no template', where="query.template")
    return int(text)


def _time_ns(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    time_ns = read_time_ns(text) if text else None
    if text and time_ns is None:
        raise AppError(f'"{text[:40]}" is no time', where=f"query.{name}", hint=TIMES)
    return time_ns
