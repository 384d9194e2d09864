"""Pages of one run: flight deck, attempts, tables."""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Iterator
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from apps.core.clock import now_ns
from apps.core.http import json_response
from apps.dashboard import attempts as side_by_side
from apps.dashboard import curves as cv
from apps.dashboard import flight as words
from apps.dashboard import series as shown_series
from apps.dashboard.access import incident_in, may_operate, run_of
from apps.dashboard.deck import DeckAsk, deck
from apps.dashboard.heatmap import lines as heatmap_lines
from apps.dashboard.views import number
from apps.metrics import heatmap
from apps.metrics import store as metrics
from apps.metrics.records import LayerQuery
from apps.runs import store as runs

TABLE_POINTS = 200
LAYER_ROWS = 240
KINDS = ("step", "time")


def _kind(request: HttpRequest) -> str:
    kind = request.GET.get("x", "step")
    return kind if kind in KINDS else "step"


def _span(request: HttpRequest) -> tuple[float, float] | None:
    """The zoomed range of the address, or None when it is absent or senseless."""
    try:
        start, end = float(request.GET["from"]), float(request.GET["to"])
    except (KeyError, ValueError):
        return None
    limit = 1e15
    fine = math.isfinite(start) and math.isfinite(end) and -limit < start < end < limit
    return (start, end) if fine else None


def _beside(request: HttpRequest, key: str) -> dict[str, Any]:
    run = run_of(key)
    return {
        "run": run,
        "flight": words.flight(run, now_ns()),
        "may_operate": may_operate(request),
        "here": reverse("run", args=[key]),
    }


@require_safe
def run(request: HttpRequest, key: str) -> HttpResponse:
    """The flight deck."""
    context = {
        **_beside(request, key),
        "kind": _kind(request),
        "span": _span(request),
        "deck_url": reverse("deck_data", args=[key]),
        "series_url": reverse("series", args=[key]),
        "compare": number(request, "compare"),
        "layers_url": reverse("layers", args=[key]),
    }
    return render(request, "runs/detail.html", context)


@require_safe
def head(request: HttpRequest, key: str) -> HttpResponse:
    """Incident card and tiles alone, for live updates."""
    return render(request, "runs/_head.html", _beside(request, key))


@require_safe
def side(request: HttpRequest, key: str) -> HttpResponse:
    """The right column alone, for live updates."""
    return render(request, "runs/_side.html", _beside(request, key))


@require_safe
def deck_data(request: HttpRequest, key: str) -> HttpResponse:
    """The rows of the deck as JSON, with an ETag."""
    info, asked = run_of(key), number(request, "incident")
    ask = DeckAsk(
        kind=_kind(request),
        span=_span(request),
        pixels=max(200, min(number(request, "px") or 1000, 4_000)),
        incident=incident_in(info, asked) if asked is not None else None,
        compare=number(request, "compare"),
        statistic=request.GET.get("statistic") or None,
        layer=request.GET.get("layer", ""),
    )
    response = json_response(deck(info, ask), Cache_Control="private, no-cache")
    tag = f'"{hashlib.blake2b(response.content, digest_size=12).hexdigest()}"'
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers={"ETag": tag})
    response["ETag"] = tag
    return response


@require_safe
def attempts(request: HttpRequest, key: str) -> HttpResponse:
    """What became of each attempt, and where two of them part."""
    info = run_of(key)
    found = runs.attempts(info.id)
    numbers = [attempt.number for attempt in reversed(found)]
    a, b = number(request, "a"), number(request, "b")
    if len(numbers) > 1:
        a, b = numbers[1] if a is None else a, numbers[0] if b is None else b
    pairing = side_by_side.pairing(info, a, b) if a is not None and b is not None else None
    context = {
        "run": info,
        "rows": side_by_side.rows(found),
        "numbers": numbers,
        "ask": {"a": a, "b": b},
        "pairing": pairing,
    }
    return render(request, "runs/attempts.html", context)


@require_safe
def series(request: HttpRequest, key: str) -> HttpResponse | StreamingHttpResponse:
    """A row of the deck as a table, or all its points as CSV."""
    info = run_of(key)
    row = request.GET.get("row", "loss")
    name = getattr(shown_series.shown(info.id), row, None) if row in shown_series.ROWS else None
    if name is None:
        raise Http404("this run logs nothing of the kind")
    if request.GET.get("format") == "csv":
        answer = StreamingHttpResponse(_csv(info.id, name), content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="{info.key}-{row}.csv"'
        return answer
    found = shown_series.curves(info.id, [name], points=TABLE_POINTS)[name]
    curves = [curve for curve in found if curve.rank is None]
    lines = [
        {"attempt": c.attempt, "step": s, "time_ns": t, "last": v, "low": low, "high": high}
        for c in curves
        for s, t, v, low, high in zip(c.step, c.time_ns, c.last, c.low, c.high, strict=True)
    ]
    context = {
        "run": info,
        "row": row,
        "key": name,
        "lines": lines,
        "nonfinite": [(c.attempt, step, kind) for c in curves for step, kind in c.nonfinite],
        "caption": cv.caption(curves),
    }
    return render(request, "runs/series.html", context)


@require_safe
def layers(request: HttpRequest, key: str) -> HttpResponse:
    """The heatmap of the layers as a table: what it shows, without colours."""
    info = run_of(key)
    choices = heatmap.choices(info.id)
    asked = request.GET.get("statistic", "")
    chosen = next((c for c in choices if c.slug == asked), choices[0] if choices else None)
    newest = runs.attempt(info.id, number(request, "attempt"))
    context: dict[str, Any] = {
        "run": info,
        "choices": choices,
        "chosen": chosen,
        "layer": request.GET.get("layer", ""),
        "attempt": newest,
    }
    if chosen is not None and newest is not None:
        ask = LayerQuery(
            info.id,
            newest.number,
            statistic=chosen.slug,
            layer=context["layer"],
            buckets=LAYER_ROWS,
        )
        context["grid"] = heatmap.layer_grid(ask)
        context["lines"] = heatmap_lines(context["grid"])
    return render(request, "runs/layers.html", context)


class _Line:
    """A file that gives back what is written to it, one row at a time."""

    def write(self, text: str) -> str:
        return text


def _csv(run_id: int, key: str) -> Iterator[str]:
    """All points at full resolution, attempt by attempt."""
    writer = csv.writer(_Line())
    yield writer.writerow(["attempt", "step", "time_ns", key])
    for attempt in runs.attempts(run_id):
        rows = metrics.read_rows(run_id, attempt.number, [key], None, None).get(key)
        if rows is None:
            continue
        for step, time_ns, value in zip(*rows, strict=True):
            yield writer.writerow([attempt.number, int(step), int(time_ns), repr(float(value))])
