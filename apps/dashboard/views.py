"""Ingest health, and what pages about everything share."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.core.clock import now_ns
from apps.core.times import ns_of
from apps.core.words import whole
from apps.dashboard.node_sources import node_sources
from apps.dashboard.store_health import store_health
from apps.incidents.domain.incident import IncidentInfo
from apps.ingest import arrivals, labels_store, mirrors
from apps.ingest import services as ingest_services
from apps.ingest import store as ingest_store
from apps.runs import store as run_store
from apps.runs.records import AttemptInfo, RunInfo

QUARANTINE_PAGE = 50
HEALTH_RUNS = 50


def number(request: HttpRequest, name: str) -> int | None:
    """A whole number from the query, or None: a page never fails on a mistyped address."""
    return whole(request.GET.get(name, ""))


def with_keys(incidents: list[IncidentInfo]) -> list[dict[str, Any]]:
    """Incidents with the keys of their runs."""
    keys = run_store.keys({i.run_id for i in incidents})
    return [{"incident": i, "key": keys[i.run_id]} for i in incidents]


@require_safe
def ingest(request: HttpRequest) -> HttpResponse:
    """Where a sender learns that a body was faulty."""
    before = number(request, "before")
    token = request.GET.get("token", "")[:200]
    items = ingest_store.quarantined(QUARANTINE_PAGE, before, token)
    keys = run_store.keys({body.run_id for body in items})
    backlog = ingest_services.backlog()
    counters = ingest_store.counters_of_all()
    context = {
        "backlog": backlog,
        "ack": settings.INGEST_ACK,
        # Bodies of no run (node events) have the id 0.
        "items": [{"row": body, "key": keys.get(body.run_id, "-")} for body in items],
        "next": items[-1].id if len(items) == QUARANTINE_PAGE else None,
        "token": token,
        "senders": ingest_store.faulty_senders(),
        "counters": sorted(counters.items()),
        "quarantined_total": counters.get("quarantined", len(items)),
        "runs": _runs(),
        "mirrors": _mirrors(),
        "refusals": labels_store.refusals(),
        "logs": store_health(),
        "node_sources": node_sources(),
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


def _mirrors() -> list[dict[str, Any]]:
    """Runs that come from another server, with the lag of each."""
    found = mirrors.mirrors()
    keys = run_store.keys([mirror.run_id for mirror in found])
    return [
        {
            "key": keys[mirror.run_id],
            "mirror": mirror,
            "seen_ns": ns_of(mirror.seen_at),
            "whole_ns": ns_of(mirror.whole_at),
        }
        for mirror in found
        if mirror.run_id in keys
    ]


def _runs() -> list[dict[str, Any]]:
    """The newest runs as sources: how fast and how late their data comes, and what went wrong."""
    infos, now = run_store.list_runs(HEALTH_RUNS), now_ns()
    ids = [run.id for run in infos]
    statuses, paces = ingest_services.statuses(ids), arrivals.paces(now)
    newest = run_store.newest_attempts(ids)
    return [
        {
            "run": run,
            "status": statuses[run.id],
            "pace": paces.get(run.id),
            "late_s": _late_s(run, newest.get(run.id)),
            "gaps": statuses[run.id].counters.get("gaps", 0),
            "refused": sum(statuses[run.id].refused.values()),
            "contact_ns": run.contact_ns,
        }
        for run in infos
    ]


def _late_s(run: RunInfo, newest: AttemptInfo | None) -> float | None:
    """How old the newest data of a run was when it was last heard of; None where nothing came."""
    if newest is None or newest.last_ns is None or run.contact_ns is None:
        return None
    return round(max(0.0, (run.contact_ns - newest.last_ns) / 1e9), 1)
