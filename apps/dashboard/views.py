"""Pages about everything: run list, ingest health, audit."""

from __future__ import annotations

from typing import Any

import redis
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts import store as accounts
from apps.core.words import whole
from apps.dashboard import board
from apps.dashboard.access import may_operate
from apps.incidents.domain.incident import IncidentInfo
from apps.ingest import services as ingest_services
from apps.ingest import store as ingest_store
from apps.ingest import stream
from apps.runs import store as run_store

SHOWN_WAITING = 3
AUDIT_PAGE = 100
QUARANTINE_PAGE = 50
HEALTH_RUNS = 50


def number(request: HttpRequest, name: str) -> int | None:
    """A whole number from the query, or None: a page never fails on a mistyped address."""
    return whole(request.GET.get(name, ""))


def with_keys(incidents: list[IncidentInfo]) -> list[dict[str, Any]]:
    """Incidents with the keys of their runs."""
    keys = {i.run_id: run_store.run_by_id(i.run_id).key for i in incidents}
    return [{"incident": i, "key": keys[i.run_id]} for i in incidents]


@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    """The run list, most urgent first."""
    before = number(request, "before")
    rows, next_id = board.rows(before)
    waiting = board.open_incidents() if before is None else []
    context = {
        "rows": rows,
        "next": next_id,
        "before": before,
        "waiting": with_keys(waiting[:SHOWN_WAITING]),
        "more_waiting": max(0, len(waiting) - SHOWN_WAITING),
        "may_operate": may_operate(request),
        "here": "/",
        "public_url": settings.PUBLIC_URL,
    }
    part = request.GET.get("part") == "board"
    return render(request, "runs/_board.html" if part else "runs/list.html", context)


@require_safe
def ingest(request: HttpRequest) -> HttpResponse:
    """Where a sender learns that a body was faulty."""
    before = number(request, "before")
    items = ingest_store.quarantined(QUARANTINE_PAGE, before)
    infos = run_store.list_runs(HEALTH_RUNS)
    keys = {run.id: run.key for run in infos}
    counters = ingest_store.counters_of_all()
    context = {
        **_backlog(),
        "ack": settings.INGEST_ACK,
        "items": [{"row": q, "key": keys.get(q.run_id) or _key(q.run_id)} for q in items],
        "next": items[-1].id if len(items) == QUARANTINE_PAGE else None,
        "counters": sorted(counters.items()),
        "quarantined_total": counters.get("quarantined", len(items)),
        "runs": [_health(run) for run in infos],
    }
    part = request.GET.get("part") == "body"
    return render(request, "ingest/_body.html" if part else "ingest/health.html", context)


@require_safe
def quarantined_body(request: HttpRequest, number: int) -> HttpResponse:
    """A body as its sender sent it, still compressed; never shown as a page."""
    found = ingest_store.quarantined_body(number)
    if found is None:
        raise Http404
    encoding, body = found
    name = f"quarantine-{number}.{encoding}.bin"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(body, content_type="application/octet-stream", headers=headers)


def _key(run_id: int) -> str:
    """The run a body was for; bodies of no run (node events) have the id 0."""
    return run_store.run_by_id(run_id).key if run_id else "-"


def _backlog() -> dict[str, Any]:
    try:
        return {"backlog": stream.backlog(), "stream_error": False}
    except redis.RedisError:
        return {"backlog": None, "stream_error": True}


def _health(run: Any) -> dict[str, Any]:
    try:
        status: Any = ingest_services.status(run.id)
    except redis.RedisError:
        status = None
    contact = run.last_contact_at
    return {
        "run": run,
        "status": status,
        "gaps": status.counters.get("gaps", 0) if status else None,
        "contact_ns": int(contact.timestamp() * 1e9) if contact else None,
    }


@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """Who did what to what and why."""
    rows = accounts.audit_rows(AUDIT_PAGE, number(request, "before"))
    next_id = rows[-1].id if len(rows) == AUDIT_PAGE else None
    return render(request, "dashboard/audit.html", {"rows": rows, "next": next_id})
