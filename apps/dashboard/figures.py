"""Plotly figures, checked by plotly's own validators. Colours are CSS variables.

The browser fills in colours, margins and sizes (static/js/charts.js); here is what is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson
import plotly.graph_objects as go

from apps.dashboard import curves as cv
from apps.dashboard.curves import Axis, Curve, Piece, Range

HUES = ("blue", "vermillion", "green", "purple")
"""At most four hues, so that colour-blind people can tell them apart; then dashes."""


NEAR_RATIO = 0.012
"""Triangles nearer than this part of the axis become one with a count."""


@dataclass(frozen=True, slots=True)
class Behind:
    """A band behind the curves: low and high at x, and what it is in words."""

    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    caption: str


@dataclass(frozen=True, slots=True)
class View:
    """How people want the rows drawn. smooth: weight of what came before, 0: as it is. clip: far
    values may leave the plot. log: names of the rows on a log axis, None: those that usually are.
    """

    smooth: float = 0.0
    clip: bool = True
    log: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """The curve of another run, moved onto this axis. name: what it is in words."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, slots=True)
class Chart:
    """What one row shows. kept: attempt -> first step given up (see lineage.py). compare: the
    attempt that is drawn whole, in a hue of its own, to be read beside the others. sibling: the
    band in which its siblings put it. others: curves of other runs."""

    name: str
    curves: Sequence[Curve]
    kept: Mapping[int, int | None]
    axis: Axis
    hue: str = "blue"
    log: bool = False
    compare: int | None = None
    sibling: Behind | None = None
    view: View = field(default_factory=View)
    others: Sequence[Beside] = ()


Look = Mapping[str, Any]
"""What plotly has checked of a trace or a layout. Shared: never changed."""


@dataclass(frozen=True, slots=True)
class _Trace:
    """One trace: what plotly checks, and the points, which it need not copy three times."""

    look: Look
    x: Sequence[float | None]
    y: Sequence[float | None]


def _scatter(**said: Any) -> Look:
    """The look of a trace as Plotly JSON, checked when it first occurs: checking costs more than
    all the points."""
    return _checked(orjson.dumps(said))


@lru_cache(maxsize=1_000)
def _checked(said: bytes) -> Look:
    look: Look = go.Scatter(**orjson.loads(said)).to_plotly_json()
    return look


def _band(piece: Piece, hue: str) -> list[_Trace]:
    """Two invisible lines with the area between them: the lowest and highest value of buckets."""
    if piece.low == piece.high:
        return []
    edge, role = {"width": 0}, {"role": "band", "attempt": piece.attempt}
    lower = _scatter(mode="lines", line=edge, meta=role)
    upper = _scatter(
        mode="lines", line=edge, meta=role, fill="tonexty", fillcolor=f"var(--{hue}-band)"
    )
    return [_Trace(lower, piece.x, piece.low), _Trace(upper, piece.x, piece.high)]


def _line(piece: Piece, hue: str, smooth: float) -> list[_Trace]:
    """The values; if they are smoothed, faint below the smoothed line."""
    style = (
        {"color": f"var(--{hue})", "width": 1.8}
        if piece.kept
        else {"color": "var(--grey)", "width": 1.3}
    )
    strength = 1.0 if piece.kept else 0.6
    look = _scatter(
        mode="lines+markers" if len(piece.x) < 3 else "lines",
        line={**style, "width": 1} if smooth else style,
        opacity=strength * (0.35 if smooth else 1.0),
        meta={"role": "value" if piece.kept else "old", "attempt": piece.attempt},
    )
    found = [_Trace(look, piece.x, piece.last)]
    if smooth:
        role = {"role": "smooth", "attempt": piece.attempt}
        calm = _scatter(mode="lines", line=style, opacity=strength, meta=role)
        found.append(_Trace(calm, piece.x, cv.smoothed(piece.last, smooth)))
    return found


def _beside(curve: Curve, kind: str) -> _Trace:
    """The compared attempt, from its first step to its last, over what else there is."""
    look = _scatter(
        mode="lines",
        line={"color": "var(--purple)", "width": 1.8, "dash": "dash"},
        meta={"role": "compare", "attempt": curve.attempt},
    )
    return _Trace(look, cv.to_x(curve, kind), list(curve.last))


_DASHES = ("dash", "dot", "dashdot", "longdash", "longdashdot")


def _others(chart: Chart) -> list[_Trace]:
    """Other runs: hues in turn, and dashes of their own."""
    return [
        _Trace(
            _scatter(
                mode="lines",
                line={
                    "color": f"var(--{HUES[(at + 1) % len(HUES)]})",
                    "width": 1.5,
                    "dash": _DASHES[at % len(_DASHES)],
                },
                meta={"role": "other", "name": other.name},
            ),
            other.x,
            other.y,
        )
        for at, other in enumerate(chart.others)
    ]


def _arrows(chart: Chart, cut: Sequence[Piece], shown: Range | None) -> list[_Trace]:
    """Where values lie beyond the plot: an arrow at that edge, with how many lie there."""
    if shown is None:
        return []
    gap = (chart.axis.end - chart.axis.start) * NEAR_RATIO
    sides = [cv.beyond(piece, shown, log=chart.log) for piece in cut]
    found = []
    for side, symbol, y in ((0, "arrow-up", 0.985), (1, "arrow-down", 0.015)):
        near = cv.clusters(sorted(x for both in sides for x in both[side]), gap)
        if near:
            look = _scatter(
                yaxis="y2",
                mode="markers+text",
                marker={"symbol": symbol, "size": 8, "color": f"var(--{chart.hue})"},
                text=["" if count == 1 else f"x{count}" for _, count in near],
                textposition="middle right",
                textfont={"color": "var(--grey)"},
                cliponaxis=False,
                meta={"role": "clipped"},
            )
            found.append(_Trace(look, [at for at, _ in near], [y] * len(near)))
    return found


def _whiskers(piece: Piece, hue: str) -> list[_Trace]:
    found = cv.whiskers(piece)
    if not found:
        return []
    x: list[float | None] = []
    y: list[float | None] = []
    for at, low, high in found:
        x += [at, at, None]
        y += [low, high, None]
    line = {"color": f"var(--{hue})" if piece.kept else "var(--grey)", "width": 1}
    return [_Trace(_scatter(mode="lines", line=line, meta={"role": "whisker"}), x, y)]


def nonfinite_x(curve: Curve, kind: str) -> list[float]:
    """Where the curve's NaN and infinities lie on the axis."""
    steps = [float(step) for step, _ in curve.nonfinite]
    if kind == "step" or not steps:
        return steps
    return cv.step_to_time_ms([curve], curve.attempt, steps) or []


def _sibling_band(chart: Chart) -> list[_Trace]:
    """The area in which the siblings put the curve, with a dotted upper edge."""
    behind = chart.sibling
    if behind is None or not behind.x:
        return []
    role = {"role": "sibling"}
    lower = _scatter(mode="lines", line={"width": 0}, meta=role)
    edge = {"color": "var(--green)", "width": 1, "dash": "dot"}
    upper = _scatter(
        mode="lines", line=edge, meta=role, fill="tonexty", fillcolor="var(--green-band)"
    )
    return [_Trace(lower, behind.x, behind.low), _Trace(upper, behind.x, behind.high)]


def _triangles(chart: Chart) -> list[_Trace]:
    """NaN and infinities on a fixed lane at the top edge, never on the value axis."""
    x = sorted({at for curve in chart.curves for at in nonfinite_x(curve, chart.axis.kind)})
    clusters = cv.clusters(x, (chart.axis.end - chart.axis.start) * NEAR_RATIO)
    if not clusters:
        return []
    look = _scatter(
        yaxis="y2",
        mode="markers+text",
        marker={"symbol": "triangle-up", "size": 10, "color": "var(--critical)"},
        text=["" if count == 1 else f"x{count}" for _, count in clusters],
        textposition="middle right",
        textfont={"color": "var(--critical)"},
        cliponaxis=False,
        meta={"role": "nonfinite"},
    )
    return [_Trace(look, [at for at, _ in clusters], [0.95] * len(clusters))]


def _figure(traces: Sequence[_Trace], layout: Look) -> dict[str, Any]:
    """Plotly JSON of the figure, with the points put in as they are."""
    return {"data": [{**t.look, "x": t.x, "y": t.y} for t in traces], "layout": layout}


@lru_cache(maxsize=2)
def _frame(*, log: bool) -> Look:
    """The layout of every row, but for what its axes show."""
    y = {
        "type": "log" if log else "linear",
        "fixedrange": True,
        "gridcolor": "var(--grid)",
        "zeroline": False,
        "nticks": 5,
        "automargin": False,
        "exponentformat": "none",
    }
    frame: Look = go.Layout(
        xaxis={
            "type": "linear",
            "showticklabels": False,
            "gridcolor": "var(--grid)",
            "zeroline": False,
            "automargin": False,
        },
        yaxis=y,
        yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        showlegend=False,
        hovermode=False,
        dragmode="zoom",
        uirevision="lastgood",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    ).to_plotly_json()
    return frame


def _layout(chart: Chart, shown: Range | None) -> Look:
    frame, axis = _frame(log=chart.log), chart.axis
    x = {"range": [axis.start, axis.end], "tickvals": list(axis.ticks)}
    y: dict[str, Any] = {"range": [shown.low, shown.high]} if shown else {}
    if shown and chart.log:
        places = cv.log_ticks(shown)
        y |= {"tickvals": places, "ticktext": [f"{place:g}" for place in places]}
    return {**frame, "xaxis": {**frame["xaxis"], **x}, "yaxis": {**frame["yaxis"], **y}}


def line_chart(chart: Chart) -> dict[str, Any]:
    """{figure, caption, last}: the row as Plotly JSON, its caption and the newest value shown.

    Abandoned stretches come first, so that what counts lies on top.
    """
    kept, kind = chart.kept, chart.axis.kind
    cut = [p for c in chart.curves for p in cv.pieces(c, kept.get(c.attempt), kind)]
    shown, clipped = _range(chart, cut)
    traces = _sibling_band(chart)
    for piece in sorted(cut, key=lambda p: (p.kept, p.attempt)):
        traces += _band(piece, chart.hue) if piece.kept else []
        traces += [*_whiskers(piece, chart.hue), *_line(piece, chart.hue, chart.view.smooth)]
    traces += [_beside(curve, kind) for curve in chart.curves if curve.attempt == chart.compare]
    traces += [*_others(chart), *_arrows(chart, cut, shown), *_triangles(chart)]
    newest = [p for p in cut if p.kept]
    whiskers = sum(len(cv.whiskers(p)) for p in cut)
    return {
        "figure": _figure(traces, _layout(chart, shown)),
        "caption": _caption(chart, clipped, whiskers),
        "last": newest[-1].last[-1] if newest else None,
        "clipped": clipped,
        "log": chart.log,
        "drawn": sum(c.drawn for c in chart.curves),
        "stored": sum(c.stored for c in chart.curves),
        "bucket": max((c.bucket_steps for c in chart.curves), default=1),
    }


def _caption(chart: Chart, clipped: int, whiskers: int) -> str:
    parts = [cv.caption(chart.curves, clipped, whiskers)]
    parts += [chart.sibling.caption] if chart.sibling else []
    parts += [f"smoothed with {chart.view.smooth:g}"] if chart.view.smooth else []
    if chart.others:
        parts.append(f"beside {', '.join(other.name for other in chart.others)}")
    return " · ".join(parts)


def _range(chart: Chart, cut: Sequence[Piece]) -> tuple[Range | None, int]:
    """The y axis, and how many values of the curve it does not show."""
    if chart.log:
        values = [v for p in cut for v in (*p.low, *p.high)]
        found = cv.log_range(values, clip=chart.view.clip)
        return found, found.clipped if found else 0
    if not chart.view.clip:
        return cv.whole_range([v for p in cut for v in (*p.low, *p.high)]), 0
    found = cv.value_range(cv.warmed_up(cut, chart.axis.start, chart.axis.end))
    return found, cv.outside([v for p in cut for v in p.last], found) if found else 0


def rows_chart(
    axis: Axis,
    name: str,
    rows: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    *,
    log: bool,
) -> dict[str, Any]:
    """Rows of the heatmap as lines, (label, x, y); each label has a hue and a dash of its own.

    What is not finite is a gap here; the heatmap marks it.
    """
    labels = list(dict.fromkeys(label for label, _, _ in rows))
    traces = []
    for label, x, y in rows:
        at = labels.index(label)
        line = {"color": f"var(--{HUES[at % len(HUES)]})", "width": 1.6, "dash": "solid"}
        if at >= len(HUES):
            line["dash"] = _DASHES[at % len(_DASHES)]
        look = _scatter(mode="lines", line=line, meta={"role": "other", "name": label})
        traces.append(_Trace(look, x, [v if math.isfinite(v) else None for v in y]))
    values = [v for _, _, y in rows for v in y]
    chart = Chart(name, (), {}, axis, log=log)
    found = cv.log_range(values) if log else cv.value_range(values)
    return {
        "name": name,
        "figure": _figure(traces, _layout(chart, found)),
        "caption": f"{name} of {', '.join(labels)}",
        "last": None,
        "labels": [[label, HUES[at % len(HUES)]] for at, label in enumerate(labels)],
    }


def ranks_chart(chart: Chart, suspect: int | None) -> dict[str, Any]:
    """One line a rank: the suspect rank strong, the others thin and grey."""
    traces = []
    ordered = sorted(chart.curves, key=lambda c: (c.rank == suspect, c.rank or 0))
    for curve in ordered:
        strong = curve.rank == suspect
        line = (
            {"color": "var(--critical)", "width": 2.2}
            if strong
            else {"color": "var(--grey)", "width": 1}
        )
        look = _scatter(
            mode="lines",
            line=line,
            opacity=1.0 if strong else 0.55,
            meta={"role": "rank", "rank": curve.rank},
        )
        traces.append(_Trace(look, cv.to_x(curve, chart.axis.kind), list(curve.last)))
    found = cv.value_range([v for c in chart.curves for v in c.last])
    ranks = len({c.rank for c in chart.curves})
    text = f"{chart.name} of {ranks} ranks"
    if suspect is not None:
        text += f": rank {suspect} strong, the others grey"
    return {
        "figure": _figure(traces, _layout(chart, found)),
        "caption": text,
        "last": None,
    }
