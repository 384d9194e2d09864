"""Pages of one run: flight deck, attempts, tables."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from apps.core.clock import now_ns
from apps.dashboard import attempts as side_by_side
from apps.dashboard import csv_file, points_csv
from apps.dashboard import curves as cv
from apps.dashboard import flight as words
from apps.dashboard import series as shown_series
from apps.dashboard.access import may_operate, run_of
from apps.dashboard.deck_ask import ask_of, kind_of, span_of
from apps.dashboard.heatmap import lines as heatmap_lines
from apps.dashboard.views import number
from apps.metrics import heatmap
from apps.metrics import store as metrics
from apps.metrics.records import LayerQuery
from apps.runs import store as runs

TABLE_POINTS = 200
LAYER_ROWS = 240


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
        "kind": kind_of(request.GET.dict()),
        "span": span_of(request.GET.dict()),
        "deck_url": reverse("deck_data", args=[key]),
        "series_url": reverse("series", args=[key]),
        "compare": number(request, "compare"),
        "layers_url": reverse("layers", args=[key]),
        "other_runs": [other.key for other in runs.list_runs() if other.key != key],
    }
    return render(request, "runs/detail.html", context)


@require_safe
def head(request: HttpRequest, key: str) -> HttpResponse:
    """Incident card and tiles alone, for live updates."""
    return render(request, "runs/_head.html", _beside(request, key))


@require_safe
def side(request: HttpRequest, key: str) -> HttpResponse:
    """What stands beside the charts alone, for live updates."""
    return render(request, "runs/_sides.html", _beside(request, key))


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
        "placed": side_by_side.placed(info.id, found),
        "most_placed": side_by_side.MAX_PLACED,
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
    name = request.GET.get("key")
    if name is None and row in shown_series.ROWS:
        name = getattr(shown_series.shown(info.id), row, None)
    elif name is not None and name not in metrics.key_names(info.id, ranked=False):
        name = None
    if name is None:
        raise Http404("this run logs nothing of the kind")
    if request.GET.get("format") == "csv":
        return csv_file.answer(f"{info.key}-{name}", points_csv.of_series(info.id, name))
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


@require_safe
def rank_points(request: HttpRequest, key: str, attempt: int) -> StreamingHttpResponse:
    """The loss that each rank printed, all points of one attempt as CSV."""
    info = run_of(key)
    name = shown_series.shown(info.id).rank_loss
    if name is None or runs.attempt(info.id, attempt) is None:
        raise Http404("no ranks of this attempt logged a loss")
    lines = points_csv.of_ranks(info.id, attempt, name)
    return csv_file.answer(f"{info.key}-{attempt}-{name}-by-rank", lines)


@require_safe
def layer_points(request: HttpRequest, key: str) -> StreamingHttpResponse:
    """The series behind rows of the heatmap, all points as CSV."""
    info, ask = run_of(key), ask_of(request.GET.dict())
    query = LayerQuery(info.id, 0, statistic=ask.statistic, layer=ask.layer, labels=ask.lines)
    rows = heatmap.row_series(query) if ask.lines else {}
    if not rows:
        raise Http404("this run logs nothing of the kind")
    return csv_file.answer(f"{info.key}-layers", points_csv.of_rows(info.id, rows))
