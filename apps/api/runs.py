"""Runs and what they logged."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema

from apps.api import shapes
from apps.api.auth import needs
from apps.api.lookup import Attempt, Rank, capped, run_of
from apps.core.errors import AppError
from apps.core.http import json_response
from apps.core.records import Severity
from apps.core.words import whole
from apps.logs import store as logs
from apps.logs.records import LogQuery
from apps.metrics import heatmap
from apps.metrics import store as metrics
from apps.metrics.domain.layer_statistics import BY_SLUG as STATISTICS
from apps.metrics.records import LayerQuery
from apps.runs import store as runs
from apps.runs.domain.topology import first_missing

router = Router(auth=needs("read"))
MAX_POINTS = 4_000
MAX_KEYS = 20
MAX_STEP = 2**62
MAX_RANK = 2**31 - 1
MAX_MISSING = 10_000


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


@router.get("/runs", response=shapes.RunPage, summary="Runs, newest first")
def list_runs(request: HttpRequest, limit: int = 50, before: int | None = None) -> dict[str, Any]:
    limit = capped(limit)
    items = runs.list_runs(limit, before)
    return {"items": items, "next": items[-1].id if len(items) == limit else None}


@router.get("/runs/{key}", response=shapes.RunDetail, summary="One run with its attempts")
def get_run(request: HttpRequest, key: str) -> dict[str, Any]:
    run = run_of(key)
    return {**asdict(run), "attempts": runs.attempts(run.id)}


@router.get("/runs/{key}/attempts", response=shapes.AttemptList, summary="Attempts, oldest first")
def get_attempts(request: HttpRequest, key: str) -> dict[str, Any]:
    return {"items": runs.attempts(run_of(key).id)}


@router.get("/runs/{key}/keys", response=shapes.KeyList, summary="What is logged")
def get_keys(request: HttpRequest, key: str) -> dict[str, Any]:
    return {"items": metrics.keys(run_of(key).id)}


class SeriesAsk(Schema):
    """keys: comma-separated. from, to: steps, both included. points: most buckets a series."""

    keys: str
    attempt: Attempt | None = None
    rank: Rank | None = None
    points: int = 1000


@router.get(
    "/runs/{key}/series",
    response=shapes.SeriesList,
    summary="Series in deterministic buckets",
    description="min, max and last value of buckets whose edges are aligned to absolute steps; NaN "
    "and infinities are listed apart. ETag and If-None-Match spare the transfer. "
    "`from` and `to` are steps, both included.",
)
def get_series(request: HttpRequest, key: str, ask: Query[SeriesAsk]) -> HttpResponse:
    run = run_of(key)
    names = _names(ask.keys)
    if not names or len(names) > MAX_KEYS:
        raise AppError(f"1 to {MAX_KEYS} keys, comma-separated", where="query.keys")
    query = metrics.SeriesQuery(
        run_id=run.id,
        keys=names,
        attempt=ask.attempt,
        rank=ask.rank,
        from_step=_step(request, "from"),
        to_step=_step(request, "to"),
        points=max(1, min(ask.points, MAX_POINTS)),
    )
    series = [asdict(window) for window in metrics.read_series(query)]
    return _tagged(request, {"run": run.key, "series": series})


def _step(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name)
    if not text:
        return None
    try:
        step = int(text)
    except ValueError as error:
        raise AppError(f'"{text[:40]}" is not a step', where=f"query.{name}") from error
    if abs(step) > MAX_STEP:
        raise AppError(f"steps go up to {MAX_STEP}", where=f"query.{name}")
    return step


def _attempt(run_id: int, asked: int | None) -> int:
    """The asked attempt, or the newest."""
    if asked is not None:
        return asked
    return max((attempt.number for attempt in runs.attempts(run_id)), default=0)


def _tagged(request: HttpRequest, body: dict[str, Any]) -> HttpResponse:
    """The answer with its ETag, or 304 when the caller has it."""
    response = json_response(body, Cache_Control="private, no-cache")
    tag = f'"{hashlib.blake2b(response.content, digest_size=12).hexdigest()}"'
    if tag in request.headers.get("If-None-Match", ""):
        return HttpResponse(status=304, headers={"ETag": tag})
    response["ETag"] = tag
    return response


class LayerAsk(Schema):
    """statistic: a slug such as grad_norm, empty: the first one that is logged. layer: the modules
    of one layer, such as "layer 12". prefix: series by the start of their name instead."""

    statistic: str = ""
    layer: str = ""
    prefix: str = ""
    attempt: Attempt | None = None
    buckets: int = 240


@router.get(
    "/runs/{key}/layers",
    response=shapes.LayersOut,
    summary="A statistic of all layers, or of one layer's modules, over steps",
    description="Layers are recognised by their names, whatever the framework; the rules of the "
    "project come first (`/projects/{project}/names`). `from` and `to` are steps, both included.",
)
def get_layers(request: HttpRequest, key: str, ask: Query[LayerAsk]) -> HttpResponse:
    run = run_of(key)
    if ask.statistic and ask.statistic not in STATISTICS:
        hint = f"use {', '.join(STATISTICS)}"
        raise AppError(
            f'"{ask.statistic[:40]}" is no statistic', where="query.statistic", hint=hint
        )
    query = LayerQuery(
        run_id=run.id,
        attempt=_attempt(run.id, ask.attempt),
        statistic=ask.statistic or None,
        layer=ask.layer,
        prefix=ask.prefix,
        buckets=max(1, min(ask.buckets, 1_200)),
        from_step=_step(request, "from"),
        to_step=_step(request, "to"),
    )
    return _tagged(request, asdict(heatmap.layer_grid(query)))


class LogAsk(Schema):
    """ranks: comma-separated. severity: lowest shown. after: `next` of the page before."""

    attempt: Attempt | None = None
    ranks: str = ""
    node: str | None = None
    severity: str = "debug"
    text: str = ""
    from_ns: int | None = None
    to_ns: int | None = None
    after: str | None = None
    limit: int = 100


def severity_of(name: str) -> Severity:
    """The severity called `name`; AppError names the allowed ones."""
    try:
        return Severity[name.upper()]
    except KeyError as error:
        allowed = ", ".join(s.name.lower() for s in Severity)
        raise AppError(
            f'"{name[:40]}" is no severity', where="query.severity", hint=f"use {allowed}"
        ) from error


def _ranks(text: str) -> tuple[int, ...]:
    names = _names(text)
    ranks = {name: whole(name, MAX_RANK) for name in names}
    wrong = [name for name, rank in ranks.items() if rank is None]
    if wrong:
        raise AppError(
            f'"{wrong[0][:40]}" is not a rank', where="query.ranks", hint="numbers, comma-separated"
        )
    return tuple(rank for rank in ranks.values() if rank is not None)


@router.get("/runs/{key}/logs", response=shapes.LogPageOut, summary="Log lines, oldest first")
def get_logs(request: HttpRequest, key: str, ask: Query[LogAsk]) -> HttpResponse:
    run = run_of(key)
    page = logs.read_lines(
        LogQuery(
            run_id=run.id,
            attempt=ask.attempt,
            ranks=_ranks(ask.ranks),
            node=ask.node,
            min_severity=severity_of(ask.severity),
            text=ask.text,
            from_ns=ask.from_ns,
            to_ns=ask.to_ns,
            after_cursor=ask.after or None,
            limit=capped(ask.limit),
        )
    )
    items = [{**asdict(line), "severity": _severity_name(line.severity)} for line in page.lines]
    return json_response(
        {
            "items": items,
            "next": page.next_cursor,
            "chunks_scanned": page.chunks_scanned,
            "chunks_total": page.chunks_total,
        }
    )


@router.get(
    "/runs/{key}/ranks",
    response=shapes.RankList,
    summary="Who spoke last, and how",
    description=f"`missing` names the lowest {MAX_MISSING} ranks that never spoke, "
    "`missing_count` counts them all.",
)
def get_ranks(request: HttpRequest, key: str, attempt: Attempt | None = None) -> dict[str, Any]:
    run = run_of(key)
    number = _attempt(run.id, attempt)
    seen = logs.rank_activity(run.id, number)
    there = {activity.rank for activity in seen if activity.rank is not None}
    size = run.world_size or 0
    return {
        "world_size": run.world_size,
        "items": [{**asdict(a), "worst_severity": _severity_name(a.worst_severity)} for a in seen],
        "missing": first_missing(size, there, MAX_MISSING),
        "missing_count": size - sum(rank < size for rank in there),
    }


def _severity_name(value: int | None) -> str | None:
    return Severity(value).name.lower() if value else None
