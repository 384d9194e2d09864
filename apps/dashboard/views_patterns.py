"""What a run says, by pattern: a tab of its logs, and a block of its incident."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.core.records import Severity
from apps.dashboard.access import run_of
from apps.dashboard.log_ask import ask_of
from apps.dashboard.log_counts import counts
from apps.dashboard.patterns import reason, shown
from apps.dashboard.views import number
from apps.incidents import store as incidents
from apps.logs.domain.query.ranksets import BadQuery, Spans, parse_ranks
from apps.logs.patterns import PatternQuery, Patterns, read_patterns
from apps.runs import store as runs

LEVELS = tuple(severity.name.lower() for severity in Severity)
PAGE = 100


@require_safe
def patterns(request: HttpRequest, key: str) -> HttpResponse:
    """Patterns of one attempt, filtered; the new ones first if asked for."""
    run = run_of(key)
    attempts = runs.attempts(run.id)
    asked = number(request, "attempt")
    attempt = asked if asked is not None else attempts[-1].number if attempts else None
    level = request.GET.get("level", "").lower()
    spans, fault = _spans(request.GET.get("rank", ""))
    ask = {
        "attempt": attempt,
        "rank": request.GET.get("rank", ""),
        "level": level if level in LEVELS else "debug",
        "show": request.GET.get("show", ""),
        "page": max(1, number(request, "page") or 1),
    }
    found = Patterns((), 0, 0, 0, 0)
    if attempt is not None and not fault:
        found = read_patterns(_query(run.id, attempt, ask, spans))
    context = {
        "run": run,
        "attempts": attempts,
        "counts": counts(run.id),
        "query": ask_of({"attempt": str(attempt)} if attempt is not None else {}).address(),
        "levels": LEVELS,
        "ask": ask,
        "fault": fault,
        **_shown(found, attempt or 0, int(ask["page"] or 1)),
    }
    return render(request, "runs/log_patterns.html", context)


def _spans(text: str) -> tuple[Spans, str]:
    """The ranks of a filter, or what is wrong with it."""
    try:
        return (parse_ranks(text) if text.strip() else ()), ""
    except BadQuery as error:
        return (), f"{error.message}; {error.hint}"


def _query(run_id: int, attempt: int, ask: dict[str, Any], spans: Spans) -> PatternQuery:
    return PatternQuery(
        run_id=run_id,
        attempt=attempt,
        rank_spans=spans,
        min_severity=Severity[str(ask["level"]).upper()],
        onset_ns=incidents.onset_ns(run_id, attempt),
        new_only=ask["show"] == "new",
        hide_ordinary=ask["show"] == "unusual",
        limit=int(ask["page"]) * PAGE,
    )


def _shown(found: Patterns, attempt: int, page: int) -> dict[str, Any]:
    rows = found.found[(page - 1) * PAGE :]
    return {
        "found": found,
        "rows": [shown(one, attempt, found.ranks) for one in rows],
        "pages": max(1, -(-found.total // PAGE)),
        "reason": reason(found.good) if found.good is not None else "",
    }
