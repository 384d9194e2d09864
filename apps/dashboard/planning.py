"""What the planning pages show: figures, words, and the form of the restore planner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import plotly.graph_objects as go
from django.http import QueryDict

from apps.checkpoints.domain import interval, restore
from apps.checkpoints.domain.restore import Cluster, Way
from apps.core.errors import AppError
from apps.dashboard.plotting import figure, line, marker
from apps.rollbacks.advising import HOUR_S, PERCENT, Adviser, number_of, typed_text
from apps.rollbacks.domain.goodput import Goodput, Part
from apps.rollbacks.planning import RunTime

GB: Final = 1e9
CLUSTER: Final = {"copies": 1.0, "host": 2.0, "store": 100.0, "net": 25.0}
"""Copies of the state, then GB a second: a host reads, the store gives, a host sends."""
PARTS: Final[Mapping[Part, tuple[str, str, str]]] = {
    Part.TRAINING: ("training", "green", "steps that still count"),
    Part.SAVING: ("saves", "blue", "training stood still while a checkpoint was saved"),
    Part.STARTING: ("starts", "purple", "from a start to its first step: loading, compiling"),
    Part.REDONE: ("redone steps", "vermillion", "steps after the checkpoint gone back to"),
    Part.STALLED: ("stalls", "critical", "an attempt ran, no step came, or far too slowly"),
    Part.WAITING: ("waiting", "grey", "no attempt ran"),
}
"""Category -> (words, colour, what it is)."""
NAMED_PERCENT: Final = 9.0
"""A piece of a bar that is wide enough for its name."""
TICKS: Final = (
    (1 / 6, "10 s"), (1, "1 min"), (5, "5 min"), (15, "15 min"), (60, "1 h"), (240, "4 h"),
    (1_440, "1 d"), (10_080, "1 w"), (43_200, "1 month"), (525_600, "1 y"),
)  # fmt: skip
"""Places of the interval axis, in minutes."""


def curve_figure(found: Adviser) -> str:
    """Goodput by interval as Plotly JSON, with the best one and where the run stands."""
    middle = found.advice.best_s or 60.0
    x = list(interval.ladder(middle))
    y = [value * PERCENT for value in interval.curve(found.costs, x)]
    minutes = [one / 60 for one in x]
    traces = [line("goodput", minutes, y, hue="blue", hover="every %{x:.3g} min: %{y:.2f} %")]
    best = ("best", middle, found.advice.goodput, "green", "star")
    now = ("now", found.now_s or 0.0, found.now or 0.0, "vermillion", "diamond")
    for name, at_s, value, hue, symbol in (best, now):
        if at_s:
            hover = f"every {at_s / 60:.3g} min: {value * PERCENT:.2f} %"
            traces.append(
                marker(name, at_s / 60, value * PERCENT, hue=hue, symbol=symbol, hover=hover)
            )
    axes = go.Layout(
        xaxis={
            "type": "log",
            "title": {"text": "training between two saves"},
            "tickvals": [at for at, _ in TICKS],
            "ticktext": [text for _, text in TICKS],
        },
        yaxis={"title": {"text": "goodput, %"}},
    )
    return figure(traces, axes)


def choices(found: Adviser) -> list[tuple[str, float, float]]:
    """(what, interval in s, goodput) of intervals to compare, the shortest first."""
    best = found.advice.best_s
    named = {"best": best, "half of it": best / 2, "twice": best * 2, "hourly": HOUR_S}
    if found.now_s:
        named["now"] = found.now_s
    rows = [(what, at, interval.goodput(at, found.costs)) for what, at in named.items()]
    return sorted(rows, key=lambda row: row[1])


@dataclass(frozen=True, slots=True)
class Planner:
    """The restore planner: what was asked, and the ways. seen_s: what the last starts took."""

    values: Mapping[str, str]
    ways: tuple[Way, ...]
    seen_s: float | None


def planner(found: RunTime, sent: QueryDict) -> Planner:
    """Restore times from what is known of the run and, over that, what was typed."""
    known = found.measured
    hosts = known.hosts or (max(1, (known.gpus or 8) // 8))
    size = (known.size_bytes or 0) / GB
    values = {"size": typed_text(size), "hosts": str(hosts)}
    values |= {name: f"{value:g}" for name, value in CLUSTER.items()}
    typed = {name: sent.get(name, "").strip() for name in values}
    values |= {name: text for name, text in typed.items() if text}
    number = {name: number_of(text, name) for name, text in values.items()}
    try:
        where = Cluster(
            int(number["hosts"]), number["host"] * GB, number["store"] * GB, number["net"] * GB
        )
    except ValueError as error:
        raise AppError("a restore needs a host and rates above 0", where="hosts") from error
    size_bytes, copies = round(number["size"] * GB), max(1, int(number["copies"]))
    ways = restore.ways(size_bytes, copies, where) if size_bytes else ()
    seen = restore.measured_s(found.starts, size_bytes, where.hosts) if size_bytes else None
    return Planner(values, ways, seen)


def parts(found: Goodput) -> list[dict[str, Any]]:
    """The categories of a goodput, as rows: words, seconds, share, what it is."""
    wall = found.wall_s or 1.0
    return [
        {"name": words, "seconds": found.of(part), "share": found.of(part) / wall, "what": what}
        for part, (words, _, what) in PARTS.items()
    ]


def bars(rows: Sequence[tuple[str, Goodput]]) -> str:
    """A stacked bar of categories for each row, the first on top, as Plotly JSON."""
    names = [name for name, _ in rows][::-1]
    traces = [_bar(part, [one for _, one in rows][::-1], names) for part in PARTS]
    axes = go.Layout(
        barmode="stack",
        bargap=0.35,
        legend={"traceorder": "normal"},
        xaxis={"range": [0, 100], "ticksuffix": " %"},
        yaxis={"automargin": True, "showgrid": False, "type": "category"},
    )
    return figure(traces, axes)


def _bar(part: Part, found: Iterable[Goodput], names: Sequence[str]) -> go.Bar:
    words, hue, _ = PARTS[part]
    shares = [PERCENT * one.of(part) / (one.wall_s or 1.0) for one in found]
    return go.Bar(
        name=words,
        x=shares,
        y=list(names),
        orientation="h",
        text=[f"{words} {share:.0f} %" if share >= NAMED_PERCENT else "" for share in shares],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"color": "var(--on-accent)"},
        marker={"color": f"var(--{hue})", "line": {"color": "var(--bg)", "width": 1}},
        hovertemplate=f"%{{x:.1f}} %<extra>{words}</extra>",
    )
