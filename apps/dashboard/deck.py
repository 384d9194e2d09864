"""The data of the flight deck: every row on one axis, composed from all apps."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from django.urls import reverse

from apps.checkpoints import evaluations
from apps.checkpoints import store as checkpoints
from apps.dashboard import evaluations as scores
from apps.dashboard import figures, heatmap, lanes, series, sibling_band
from apps.dashboard.curves import Axis, Curve, axis, step_to_time_ms, time_to_step
from apps.dashboard.deck_ask import CHARTS, MORE, DeckAsk
from apps.dashboard.deck_pulse import pulse
from apps.dashboard.delta import NOTHING, Until, delta
from apps.dashboard.figures import Beside, Chart
from apps.dashboard.lineage import kept_until
from apps.dashboard.other_runs import others
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.metrics import store as metrics
from apps.nodes import store as nodes
from apps.rollbacks import store as rollbacks
from apps.runs import hosts_store
from apps.runs import store as runs
from apps.runs.domain.state import stale_after_s
from apps.runs.records import AttemptInfo, RunInfo

MAX_INCIDENTS = 50
ROWS = (
    ("loss", "blue", False),
    ("eval_loss", "purple", False),
    ("grad", "vermillion", True),
    ("step_time", "green", False),
)
"""Rows of the deck, names of fields of series.Shown: hue, whether their axis is usually a log."""


@dataclass(frozen=True, slots=True)
class _Scene:
    """Everything read once for one answer."""

    run: RunInfo
    ask: DeckAsk
    attempts: Sequence[AttemptInfo]
    shown: series.Shown
    curves: dict[str, list[Curve]]
    axis: Axis
    clock: lanes.Clock


def deck(run: RunInfo, ask: DeckAsk) -> dict[str, Any]:
    """The JSON of deck.js: axis; charts, lanes, marks, now, clock; heatmap, pulse (part "more").
    Without what the page has (see delta.py)."""
    scene = _read(run, ask)
    if scene is None:
        return delta(_empty(ask), NOTHING.until, ask.had)
    found: dict[str, Any] = {"axis": {**asdict(scene.axis), "kind": ask.kind}}
    if ask.part != MORE:
        found |= _main(scene)
    if ask.part != CHARTS:
        found |= _more(scene)
    return delta(found, _until(scene), ask.had)


def _more(scene: _Scene) -> dict[str, Any]:
    """Layers and log pulse, which cost more than the rest."""
    layered = heatmap.HeatmapAsk(
        scene.run.id, scene.ask.statistic, scene.ask.layer, tuple(_stretches(scene))
    )
    span = (scene.axis.start, scene.axis.end)
    drawn = heatmap.heatmap(layered, partial(_places, scene))
    return {
        "heatmap": drawn,
        "layers": _layer_lines(scene, layered, drawn) if drawn and scene.ask.lines else None,
        "pulse": pulse(scene.run.id, scene.clock.curves, scene.ask.kind, span),
    }


def _layer_lines(
    scene: _Scene, layered: heatmap.HeatmapAsk, drawn: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Of the statistic that is drawn: the one that was asked for may be none of this run's."""
    asked = replace(layered, statistic=drawn["statistic"])
    found = heatmap.row_lines(asked, scene.ask.lines, partial(_places, scene))
    name = next(s["words"] for s in drawn["statistics"] if s["slug"] == drawn["statistic"])
    rows = [(one.label, one.x, one.y) for one in found]
    log = scene.ask.view.log is not None and "layers" in scene.ask.view.log
    return figures.rows_chart(scene.axis, name, rows, log=log) if rows else None


def _main(scene: _Scene) -> dict[str, Any]:
    """What is on the screen first."""
    run, ask = scene.run, scene.ask
    spine = scene.clock.curves
    steps = _steps(spine, ask)
    beside, missing = others(run, ask, spine, steps) if ask.others else ({}, [])
    told = _incidents(run, ask)
    return {
        "charts": _charts(scene, beside),
        "lanes": _lanes(scene, told),
        "marks": _marks(scene, told),
        "now": _now(scene),
        "clock": _clock(spine, ask.kind),
        "step": run.last_step,
        "heard": _heard(run),
        "note": "; ".join(f"not compared: {reason}" for reason in missing),
    }


def _empty(ask: DeckAsk) -> dict[str, Any]:
    return {
        "axis": {**asdict(axis(ask.kind, (0, 0), ask.ticks, exact=False))},
        "charts": {},
        "lanes": [],
        "heatmap": None,
        "pulse": [],
        "marks": [],
        "now": None,
        "heard": None,
        "clock": {"x": [], "other": []},
        "note": "no metrics yet: waiting for the first row",
    }


def _read(run: RunInfo, ask: DeckAsk) -> _Scene | None:
    shown = series.shown(run.id)
    wanted = (shown.loss, shown.grad, shown.step_time, shown.eval_loss, *ask.pins)
    keys = list(dict.fromkeys(key for key in wanted if key))
    if not keys:
        return None
    read = series.curves(run.id, keys[:1], points=ask.points, attempt=ask.attempt)
    whole = [c for c in read[keys[0]] if c.rank is None and len(c.step)]
    if not whole:
        return None
    steps = _steps(whole, ask)
    if ask.part == MORE:
        keys = []
    elif ask.span is None:
        keys = keys[1:]
    found = series.curves(run.id, keys, steps=steps, points=ask.points, attempt=ask.attempt)
    both = {**read, **found}
    found_job = {key: [c for c in curves if c.rank is None] for key, curves in both.items()}
    return _Scene(
        run=run,
        ask=ask,
        attempts=runs.attempts(run.id),
        shown=shown,
        curves=found_job,
        axis=axis(ask.kind, _span(whole, ask), ask.ticks, exact=ask.span is not None),
        clock=lanes.Clock(ask.kind, whole),
    )


def _incidents(run: RunInfo, ask: DeckAsk) -> Sequence[IncidentInfo]:
    query = incidents.IncidentQuery(run_id=run.id, limit=MAX_INCIDENTS)
    return [i for i in incidents.list_incidents(query) if i.page or i.state != "resolved"]


def _span(whole: Sequence[Curve], ask: DeckAsk) -> tuple[float, float]:
    if ask.span is not None:
        return ask.span
    if ask.kind == "time":
        return min(c.time_ns[0] for c in whole) / 1e6, max(c.time_ns[-1] for c in whole) / 1e6
    return float(min(c.step[0] for c in whole)), float(max(c.step[-1] for c in whole))


def _steps(whole: Sequence[Curve], ask: DeckAsk) -> tuple[int | None, int | None]:
    """The steps to read for the zoomed span, one bucket wider on each side."""
    if ask.span is None:
        return None, None
    start, end = ask.span
    if ask.kind == "time":
        inside = [
            found
            for curve in whole
            if curve.time_ns[0] / 1e6 <= end and curve.time_ns[-1] / 1e6 >= start
            for moment in (start, end)
            if (found := time_to_step([curve], int(moment * 1e6))) is not None
        ]
        start, end = (min(inside), max(inside)) if inside else (0.0, 0.0)
    margin = max(2.0, (end - start) * 0.02)
    return max(0, int(start - margin)), int(end + margin) + 1


def _charts(scene: _Scene, beside: Mapping[str, Sequence[Beside]]) -> dict[str, Any]:
    """The rows, then what is pinned as "pin:KEY"."""
    found: dict[str, Any] = {}
    for row, hue, log in ROWS:
        key = getattr(scene.shown, row)
        if key and scene.curves.get(key):
            found[row] = _row(scene, (row, key, hue, log), beside.get(row, ()))
    for key in scene.ask.pins:
        if scene.curves.get(key):
            found[f"pin:{key}"] = _row(scene, (f"pin:{key}", key, "blue", False), ())
    ranks = _rank_chart(scene)
    return {**found, "ranks": ranks} if ranks else found


def _row(
    scene: _Scene, row: tuple[str, str, str, bool], beside: Sequence[Beside]
) -> dict[str, Any]:
    name, key, hue, log = row
    view = scene.ask.view
    chart = Chart(
        name=key,
        curves=scene.curves[key],
        kept=_kept(scene),
        axis=scene.axis,
        hue=hue,
        log=log if view.log is None else name in view.log,
        compare=scene.ask.compare,
        sibling=sibling_band.behind(scene.run.id, scene.clock) if name == "loss" else None,
        view=view,
        others=beside,
    )
    return {"name": key, **figures.line_chart(chart)}


def _kept(scene: _Scene) -> Mapping[int, int | None]:
    """What is drawn strong: the history of the newest attempt, or of the incident's attempt."""
    incident = scene.ask.incident
    until = incident.attempt if incident else None
    if scene.ask.attempt is not None:
        return {scene.ask.attempt: None}
    chosen = [a for a in scene.attempts if until is None or a.number <= until]
    return {**{a.number: 0 for a in scene.attempts}, **kept_until(chosen)}


def _rank_chart(scene: _Scene) -> dict[str, Any] | None:
    """On an incident page: the loss each rank printed, the suspect strong."""
    incident, key = scene.ask.incident, scene.shown.rank_loss
    if incident is None or key is None:
        return None
    steps = _steps(scene.clock.curves, scene.ask)
    read = series.curves(scene.run.id, [key], steps=steps, points=240, attempt=incident.attempt)[
        key
    ]
    ranks = [curve for curve in read if curve.rank is not None and len(curve.step)]
    if len(ranks) < 2:
        return None
    suspect = incident.suspects[0].rank if incident.suspects else None
    chart = Chart(key, ranks, {}, scene.axis)
    return {"name": f"{key} by rank", **figures.ranks_chart(chart, suspect)}


def _lanes(scene: _Scene, told: Sequence[IncidentInfo]) -> list[dict[str, Any]]:
    run, clock = scene.run, scene.clock
    saved = checkpoints.sketches(run.id)
    orders = rollbacks.orders(run.id)
    found = [
        lanes.nonfinite_lane(clock, scene.curves),
        lanes.checkpoint_lane(clock, saved, _checkpoint_pages(run.key)),
        lanes.attempt_lane(clock, scene.attempts),
        lanes.node_lane(clock, _node_events(scene)),
        lanes.finding_lane(
            clock,
            incidents.findings(run.id),
            told,
            lambda number: reverse("incident", args=[number]),
        ),
    ]
    scored = _scored(run.id)
    if scored:
        page = reverse("evaluations", args=[run.key])
        found.insert(2, lanes.evaluation_lane(clock, scored, lambda step: f"{page}#s{step}"))
    planned = metrics.planned(run.id)
    if planned:
        found.append(lanes.planned_lane(clock, planned, reverse("planned", args=[run.key])))
    if orders:
        found.append(
            lanes.order_lane(clock, orders, lambda number: reverse("order", args=[run.key, number]))
        )
    return [lanes.thinned(lane, scene.axis.start, scene.axis.end) for lane in found]


def _checkpoint_pages(key: str) -> Callable[[int, int], str]:
    """(attempt, step) -> address. One call of `reverse` for all: a thousand cost 50 ms."""
    first = reverse("checkpoint", args=[key, 0, 0])
    root = first.removesuffix("0/0/")
    return lambda attempt, step: f"{root}{attempt}/{step}/"


def _scored(run_id: int) -> list[tuple[int, int, str, bool]]:
    """(attempt, step, scores in words, whether one is the best of its measure)."""
    found = evaluations.of_run(run_id)
    tops = scores.tops_of(found)
    return [
        (told[0].attempt, step, scores.told(told, tops), any(score in tops for score in told))
        for step, told in found.items()
    ]


def _node_events(scene: _Scene) -> list[Any]:
    names = hosts_store.hosts_of_run(scene.run.id)
    times = [t for curve in scene.clock.curves for t in (curve.time_ns[0], curve.time_ns[-1])]
    hour = 3_600_000_000_000
    return nodes.events(names, min(times) - hour, max(times) + hour) if names else []


def _places(scene: _Scene, number: int, edges: Sequence[int]) -> list[float]:
    """The x values of step edges of an attempt; empty if its times are unknown."""
    steps = [float(edge) for edge in edges]
    if scene.ask.kind == "time":
        return step_to_time_ms(scene.clock.curves, number, steps)
    return steps


def _stretches(scene: _Scene) -> list[tuple[int, int | None, int | None]]:
    """(attempt, first step, last step) of what the heatmap shows."""
    low, high = _steps(scene.clock.curves, scene.ask)
    if scene.ask.incident is not None:
        return [(scene.ask.incident.attempt, low, high)]
    found = []
    for number, bound in sorted(kept_until(scene.attempts).items()):
        end = high if bound is None else bound - 1 if high is None else min(high, bound - 1)
        if bound != 0 and (end is None or end >= (low or 0)):
            found.append((number, low, end))
    return found


def _marks(scene: _Scene, told: Sequence[IncidentInfo]) -> list[dict[str, Any]]:
    chosen = [scene.ask.incident] if scene.ask.incident else told
    found: list[dict[str, Any] | None] = []
    for incident in chosen:
        if scene.ask.incident or incident.state != "resolved":
            found += [
                lanes.first_mark(scene.clock, incident) if scene.ask.incident else None,
                lanes.onset_mark(scene.clock, incident),
            ]
    now = _now(scene)
    if now is not None:
        label = "now" if scene.run.state in ("running", "waiting") else "last data"
        found.append({"x": now, "kind": "now", "label": label})
    return [item for item in found if item is not None]


def _heard(run: RunInfo) -> dict[str, float] | None:
    """When the run was heard last, and after how long that is old; None for one that has ended."""
    if run.contact_ns is None or run.state in ("finished", "stopped", "failed"):
        return None
    return {"ms": run.contact_ns / 1e6, "stale_s": stale_after_s(run.usual_gap_s)}


def _now(scene: _Scene) -> float | None:
    """The newest point of the newest attempt."""
    newest = scene.clock.curves[-1]
    return newest.time_ns[-1] / 1e6 if scene.ask.kind == "time" else float(newest.step[-1])


def _until(scene: _Scene) -> Until:
    """The edge of the widest bucket that is still open, or the moment after the point before it."""
    newest = scene.clock.curves[-1]
    own = (c for curves in scene.curves.values() for c in curves if c.attempt == newest.attempt)
    width = max((curve.bucket_steps for curve in own), default=1)
    edge = newest.step[-1] // width * width
    if scene.ask.kind == "step":
        return Until(float(edge), newest.attempt)
    at = bisect_left(newest.step, edge)
    moment = math.nextafter(newest.time_ns[at - 1] / 1e6, math.inf) if at else -math.inf
    return Until(moment, newest.attempt)


def _clock(whole: Sequence[Curve], kind: str) -> dict[str, list[float]]:
    """Both clocks of places on the axis, for the crosshair; of the newest attempt at a step."""
    pairs: dict[float, float] = {}
    for curve in whole:
        stride = max(1, len(curve.step) // 250)
        for step, time_ns in zip(curve.step[::stride], curve.time_ns[::stride], strict=True):
            known = (time_ns / 1e6, float(step)) if kind == "time" else (float(step), time_ns / 1e6)
            pairs[known[0]] = known[1]
    ordered = sorted(pairs.items())
    return {"x": [x for x, _ in ordered], "other": [other for _, other in ordered]}
