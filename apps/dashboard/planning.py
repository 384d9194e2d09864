"""What the planning pages show and read: the form of assumptions, figures, words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import plotly.graph_objects as go
from django.http import QueryDict

from apps.checkpoints.domain import interval, restore
from apps.checkpoints.domain.interval import Advice, Costs
from apps.checkpoints.domain.restore import Cluster, Way
from apps.core.errors import AppError
from apps.core.words import duration, many
from apps.dashboard.plotting import figure, line, marker
from apps.rollbacks.domain.goodput import Goodput, Part
from apps.rollbacks.planning import Measured, RunTime

HOUR_S: Final = 3_600.0
WEEK_H: Final = 168
GB: Final = 1e9
PERCENT: Final = 100.0
MAX_VALUE: Final = 1e12
ASSUMED: Final = {"pause": 60.0, "persist": 0.0, "mtbf": 24.0, "restart": 15.0}
"""Where neither the run nor the person says: seconds, seconds, hours, minutes."""
UNITS: Final = {"pause": 1.0, "persist": 1.0, "mtbf": HOUR_S, "restart": 60.0, "interval": 60.0}
"""Field -> seconds in its unit."""
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


@dataclass(frozen=True, slots=True)
class Field:
    """One assumption. value: in its unit, as text. source: where it comes from."""

    name: str
    label: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Adviser:
    """The advice for some costs, and what the run does now.

    now_s: its interval, None if unknown; now: the goodput of that. range_s: the best interval for
    the shortest and longest MTBF that the failures allow, None if they were not counted.
    """

    fields: tuple[Field, ...]
    costs: Costs
    advice: Advice
    now_s: float | None
    now: float | None
    range_s: tuple[float, float] | None
    best_steps: int | None
    gpu_hours_a_week: float | None

    @property
    def points(self) -> float | None:
        """What the best interval wins, in points of goodput."""
        return None if self.now is None else (self.advice.goodput - self.now) * PERCENT


def adviser(found: RunTime, sent: QueryDict) -> Adviser:
    """Advice from what was measured and, over that, what a person typed. AppError by field."""
    known = _known(found)
    fields = tuple(_field(name, label, known.get(name), sent) for name, label in _LABELS.items())
    value = {one.name: _number(one.value, one.name) * UNITS[one.name] for one in fields}
    if not value["mtbf"]:
        raise AppError("failures come some time apart", where="mtbf", hint="more than 0 hours")
    costs = Costs(value["pause"], value["mtbf"], value["restart"], value["persist"])
    advice = interval.advise(costs)
    now_s = value["interval"] or None
    now = interval.goodput(now_s, costs) if now_s else None
    measured = found.measured
    won = None if now is None or not measured.gpus else advice.goodput - now
    return Adviser(
        fields=fields,
        costs=costs,
        advice=advice,
        now_s=now_s,
        now=now,
        range_s=_range(found, costs, typed="mtbf" in sent and bool(sent["mtbf"])),
        best_steps=_steps(measured, advice.best_s),
        gpu_hours_a_week=None if won is None else won * (measured.gpus or 0) * WEEK_H,
    )


_LABELS: Final = {
    "pause": "Training stands still at a save, seconds",
    "persist": "Written in the background after that, seconds",
    "mtbf": "Between two failures, hours",
    "restart": "From a failure to the first new step, minutes",
    "interval": "Training between two saves now, minutes",
}


def _known(found: RunTime) -> dict[str, tuple[float, str]]:
    """Field -> (value in its unit, where it comes from)."""
    one = found.measured
    known: dict[str, tuple[float, str]] = {}
    if one.pause_s is not None:
        known["pause"] = one.pause_s, "measured at the steps around the last saves"
    elif one.save_s is not None:
        known["pause"] = one.save_s, "the announced save time: no step shows the pause"
    if one.persist_s is not None:
        known["persist"] = one.persist_s, "the announced save time without the pause"
    if found.failures is not None and found.failures.mean_s is not None:
        seen = found.failures
        words = f"{many(seen.count, 'restart')} in {duration(seen.observed_s)}"
        known["mtbf"] = found.failures.mean_s / HOUR_S, words
    elif one.gpus:
        rate = interval.PUBLISHED_GPU_HOURS_PER_FAILURE
        words = f"no failure yet: Llama 3 had one in {rate:,.0f} GPU-hours"
        known["mtbf"] = interval.scaled_mtbf_s(rate, one.gpus) / HOUR_S, words
    if one.restart_s is not None:
        known["restart"] = one.restart_s / 60, "the median of the last restarts"
    if one.every_s is not None:
        trained_s = max(0.0, one.every_s - (one.pause_s or 0.0))
        known["interval"] = trained_s / 60, "the last saves"
    return known


def _field(name: str, label: str, known: tuple[float, str] | None, sent: QueryDict) -> Field:
    typed = sent.get(name, "").strip()
    if typed and typed != (_typed(known[0]) if known else ""):
        return Field(name, label, typed, "typed")
    if known is not None:
        return Field(name, label, _typed(known[0]), known[1])
    if name in ASSUMED:
        return Field(name, label, f"{ASSUMED[name]:g}", "assumed: nothing was measured")
    return Field(name, label, "", "not known")


def _typed(value: float) -> str:
    """Four digits, as a person would type them: 50700, not 5.07e+04."""
    return f"{float(f'{value:.4g}'):.15g}"


def _number(text: str, where: str) -> float:
    try:
        value = float(text.replace(",", "") or 0)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MAX_VALUE:
        raise AppError(f'"{text[:40]}" is no number from 0 on', where=where)
    return value


def _range(found: RunTime, costs: Costs, *, typed: bool) -> tuple[float, float] | None:
    seen = found.failures
    if seen is None or not seen.count or typed:
        return None
    ends = (
        Costs(costs.pause_s, mtbf_s, costs.restart_s, costs.persist_s)
        for mtbf_s in (seen.low_s, seen.high_s)
    )
    low, high = (interval.advise(one).best_s for one in ends)
    return low, high


def _steps(measured: Measured, best_s: float) -> int | None:
    if not measured.every_s or not measured.every_steps:
        return None
    trained_s = measured.every_s - (measured.pause_s or 0.0)
    return max(1, round(best_s * measured.every_steps / trained_s)) if trained_s > 0 else None


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
    values = {"size": _typed(size), "hosts": str(hosts)}
    values |= {name: f"{value:g}" for name, value in CLUSTER.items()}
    typed = {name: sent.get(name, "").strip() for name in values}
    values |= {name: text for name, text in typed.items() if text}
    number = {name: _number(text, name) for name, text in values.items()}
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
