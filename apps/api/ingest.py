"""How far the data has come, and what could not be read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Router

from apps.api import shapes
from apps.api.auth import needs
from apps.api.lookup import capped, run_of
from apps.ingest import services, store
from apps.ingest.wandb.gaps import missing_lines
from apps.runs import store as runs

router = Router(auth=needs("read"))


@router.get(
    "/runs/{key}/ingest", response=shapes.IngestOut, summary="How far a run's data has come"
)
def get_ingest(request: HttpRequest, key: str) -> dict[str, Any]:
    run = run_of(key)
    status = services.status(run.id)
    missing = missing_lines(run.id, run.key)
    return {
        **asdict(status),
        "run": run.key,
        "gaps": status.counters.get("gaps", 0),
        "missing": [{**asdict(stretch), "last_line": stretch.last_line} for stretch in missing],
    }


@router.get(
    "/ingest/quarantine",
    response=shapes.QuarantinePage,
    summary="Accepted bodies that could not be read, newest first",
)
def get_quarantine(
    request: HttpRequest, limit: int = 50, before: int | None = None
) -> dict[str, Any]:
    limit = capped(limit)
    found = store.quarantined(limit, before)
    keys = runs.keys({q.run_id for q in found})
    items = [{**asdict(q), "run": keys.get(q.run_id)} for q in found]
    return {"items": items, "next": found[-1].id if len(found) == limit else None}
