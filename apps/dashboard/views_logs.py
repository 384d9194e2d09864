"""The logs explorer of one run: page, streamed search, context, arrivals, download."""

from __future__ import annotations

from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.core.http import json_response
from apps.core.places import DOWNLOADS, SEARCHES, streamed
from apps.core.times import read_time_ns
from apps.core.words import whole
from apps.dashboard import log_download, log_feed, log_page, log_ranks
from apps.dashboard.access import run_of
from apps.dashboard.log_ask import ask_of, has_controls
from apps.dashboard.log_counts import counts
from apps.dashboard.log_page import Question
from apps.dashboard.store_health import log_caveats
from apps.dashboard.views import number
from apps.logs import search
from apps.logs import store as log_store
from apps.logs.domain.query.cursor import BadCursor
from apps.logs.store.overview import LATE_NS
from apps.runs import store as runs
from apps.runs.records import AttemptInfo

CONTEXT = 20
MAX_CONTEXT = 500
MAX_BUCKETS = 400


def _asked(request: HttpRequest, key: str) -> tuple[Question, list[AttemptInfo]]:
    info = run_of(key)
    attempts = list(runs.attempts(info.id))
    return log_page.question(info, attempts, ask_of(request.GET.dict())), attempts


@require_safe
def logs(request: HttpRequest, key: str) -> HttpResponse:
    """The explorer with its first lines; fields beside the query are written into it first."""
    asked, attempts = _asked(request, key)
    if has_controls(request.GET):
        ask = asked.ask
        moved = {name: getattr(ask, name) for name in ("at", "after", "before")}
        return HttpResponseRedirect(ask.address(**moved))
    attempt = next((a for a in attempts if a.number == asked.attempt), None)
    mark = log_store.newest_chunk(asked.run.id)
    found, error = _first(asked)
    context = {
        **_frame(asked, attempts),
        "found": found,
        "error": error,
        "choices": log_page.choices(asked, attempt, now_ns()),
        "widened": log_page.widened(asked),
        "state": _state(asked, attempt, found, mark),
    }
    return render(request, "runs/logs.html", context)


def _frame(asked: Question, attempts: list[AttemptInfo]) -> dict[str, Any]:
    """What every tab of the explorer shows."""
    return {
        "run": asked.run,
        "attempts": attempts,
        "asked": asked,
        "controls": asked.controls(),
        "levels": log_page.LEVELS,
        "counts": counts(asked.run.id),
        "caveats": log_caveats(asked.run.id, asked.attempt),
        "query": asked.ask.address(),
    }


def _first(asked: Question) -> tuple[log_page.Found | None, str]:
    """The first lines, or why there are none."""
    if asked.fault is not None or asked.attempt is None:
        return None, ""
    try:
        return log_page.first_page(asked), ""
    except AppError as error:
        return None, str(error)


def _state(
    asked: Question,
    attempt: AttemptInfo | None,
    found: log_page.Found | None,
    mark: int,
) -> str:
    """What the script of the page goes on from, as JSON for an attribute: no inline script.

    mark: the newest chunk before the first lines were looked for.
    """
    names = ("lines", "line", "around", "news", "pulse", "matrix", "download")
    state = {
        **asked.said(),
        "at": asked.ask.at,
        "older": found.older if found else None,
        "newer": found.newer if found else None,
        "partial": bool(found and found.partial),
        "paged": bool(asked.ask.after or asked.ask.before or asked.ask.at),
        "running": attempt is not None and attempt.state == "running",
        "late_ns": str(LATE_NS),
        "mark": mark,
        "page": reverse("logs", args=[asked.run.key]),
        "urls": {name: reverse(f"log_{name}", args=[asked.run.key]) for name in names},
    }
    return orjson.dumps(state).decode()


@require_safe
def lines(request: HttpRequest, key: str) -> HttpResponseBase:
    """Lines as they are found: NDJSON, the question first. 503 while too many search.

    after, before: cursors; otherwise from the end that the order says. since: time from which
    lines may have come late.
    """
    asked, _ = _asked(request, key)
    said = {"said": asked.said()}
    if asked.fault is not None or asked.attempt is None:
        return HttpResponse(orjson.dumps(said) + b"\n", content_type="application/x-ndjson")
    ask, since = asked.ask, read_time_ns(request.GET.get("since", ""))
    changes: dict[str, Any] = {}
    if ask.after or ask.before:
        changes = {"after_cursor": ask.after or ask.before, "newest_first": not ask.after}
    elif since is not None:
        changes = {"newest_first": False, "from_ns": max(since, ask.from_ns or since)}
    if ask.before and request.GET.get("with") == "1":
        try:
            changes["after_cursor"] = log_page.behind(ask.before)
        except BadCursor as error:
            return json_response({"error": str(error)}, status=400)
    return streamed(
        SEARCHES,
        lambda: log_feed.ndjson(said, search.scan(asked.query(**changes)), asked.marker),
    )


@require_safe
def around(request: HttpRequest, key: str) -> HttpResponse:
    """Lines of the same file before and after one line, as JSON."""
    asked, _ = _asked(request, key)
    before, after = (
        min(CONTEXT if (n := number(request, name)) is None else n, MAX_CONTEXT)
        for name in ("lines_before", "lines_after")
    )
    try:
        page = search.around(asked.run.id, request.GET.get("at", ""), before, after)
    except AppError as error:
        return json_response({"error": str(error)}, status=400)
    return json_response({"lines": [log_feed.row(line, asked.marker) for line in page.lines]})


@require_safe
def line(request: HttpRequest, key: str) -> HttpResponse:
    """All of one line, its bytes in the file where they differ, and its pattern, as JSON.

    The pattern's number is text: a browser would round it.
    """
    info = run_of(key)
    try:
        found = search.line(info.id, request.GET.get("at", ""))
    except BadCursor as error:
        return json_response({"error": str(error)}, status=400)
    if found is None:
        return json_response({"error": "the line is not stored any more"}, status=404)
    text = found[0].text
    template = search.template_of(info.id, text)
    return json_response(
        {
            "text": text,
            "original": log_feed.as_bytes(*found),
            "template": None if template is None else str(template),
        }
    )


@require_safe
def news(request: HttpRequest, key: str) -> HttpResponse:
    """Which chunks came since the one numbered `since`, and the newest attempt, as JSON."""
    info = run_of(key)
    newest = runs.attempt(info.id, None)
    attempt = runs.attempt(info.id, number(request, "attempt"))
    since = whole(request.GET.get("since", "")) or 0
    came = log_store.arrivals(info.id, attempt.number, since) if attempt else []
    chunks = [[one.chunk_id, str(one.first_ns), one.lines] for one in came]
    found = {"chunks": chunks, "counts": counts(info.id), "newest": newest and newest.number}
    return json_response(found)


@require_safe
def pulse(request: HttpRequest, key: str) -> HttpResponse:
    """Lines by severity over the range that is asked for, as JSON."""
    asked, _ = _asked(request, key)
    return json_response(log_ranks.pulse(asked, _buckets(request)))


@require_safe
def matrix(request: HttpRequest, key: str) -> HttpResponse:
    """Worst severity of each rank over the same range, packed (log_ranks.pack)."""
    asked, _ = _asked(request, key)
    body = log_ranks.matrix(asked, _buckets(request))
    response = HttpResponse(body, content_type="application/octet-stream")
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        response.content = log_ranks.squeezed(body)
        response["Content-Encoding"] = "gzip"
    return response


def _buckets(request: HttpRequest) -> int:
    return max(10, min(number(request, "buckets") or 200, MAX_BUCKETS))


@require_safe
def ranks(request: HttpRequest, key: str) -> HttpResponse:
    """The ranks of the attempt as a table: what the matrix shows, and what each said last."""
    asked, attempts = _asked(request, key)
    order = request.GET.get("sort", "worst")
    context = {**_frame(asked, attempts), **log_ranks.table(asked, order, number(request, "page"))}
    context["state"] = _state(asked, None, None, 0)
    return render(request, "runs/log_ranks.html", context)


@require_safe
def download(request: HttpRequest, key: str) -> HttpResponseBase:
    """All lines of the query, oldest first, as plain text or NDJSON; says at its end if cut."""
    asked, _ = _asked(request, key)
    kind = "ndjson" if request.GET.get("format") == "ndjson" else "txt"
    if asked.fault is not None or asked.attempt is None:
        return HttpResponse("the query cannot be read\n", status=400, content_type="text/plain")
    response = streamed(DOWNLOADS, lambda: log_download.parts(asked, kind))
    if response.streaming:
        name = f"{asked.run.key}-attempt-{asked.attempt}.{kind}"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        mime = "application/x-ndjson" if kind == "ndjson" else "text/plain; charset=utf-8"
        response["Content-Type"] = mime
    return response
