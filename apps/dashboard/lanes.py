"""Event lanes of the deck: what happened beside the curves, on the same x axis. Values only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from apps.checkpoints.domain.lifecycle import Worth
from apps.checkpoints.records import Sketch
from apps.core.records import Finding, FindingSeverity, NodeEvent
from apps.dashboard.curves import Curve, step_to_time_ms, time_to_step
from apps.incidents.domain.correlate import SCRIPT_ALERT
from apps.nodes.domain.telling import said
from apps.runs.records import AttemptInfo

_TONE = {
    FindingSeverity.PAGE: "critical",
    FindingSeverity.WARN: "warn",
    FindingSeverity.INFO: "info",
}
_CHECKPOINTS = {
    Worth.COMPLETE: ("tick", "ok"),
    Worth.UNDER_WAY: ("hollow", "run"),
    Worth.UNSEEN: ("hollow", "info"),
}


@dataclass(frozen=True, slots=True)
class Clock:
    """Moves events onto the axis. curves: of one series of the whole job, one an attempt."""

    kind: str
    curves: Sequence[Curve]

    def of_step(self, attempt: int, step: float, time_ns: int | None = None) -> float | None:
        """Where a step of an attempt lies; its own time is better than an interpolated one."""
        if self.kind == "step":
            return float(step)
        if time_ns:
            return time_ns / 1e6
        found = step_to_time_ms(self.curves, attempt, [step])
        return found[0] if found else None

    def of_time(self, time_ns: int) -> float | None:
        """Where a moment lies; None while no step is known."""
        return time_ns / 1e6 if self.kind == "time" else time_to_step(self.curves, time_ns)


def mark(
    x: float | None, shape: str, tone: str, text: str, href: str = ""
) -> dict[str, Any] | None:
    """One mark of a lane, or None when its place is not known."""
    return None if x is None else {"x": x, "shape": shape, "tone": tone, "text": text, "href": href}


def lane(name: str, items: Sequence[dict[str, Any] | None]) -> dict[str, Any]:
    """A lane with the marks whose place is known."""
    return {"name": name, "items": [item for item in items if item is not None]}


SAID = 6
MOST_MARKS = 240
"""Of a lane in one answer; a browser draws fewer, each with the number of events that it stands
for."""
_WORST = ("critical", "warn", "ok", "run", "info", "old")


def thinned(one: dict[str, Any], start: float, end: float) -> dict[str, Any]:
    """The lane with what lies in [start, end] only. Beyond MOST_MARKS, marks that share a place
    become the worst of them, with `n`: how many it stands for, and the words of the first ones."""
    inside = [i for i in one["items"] if i.get("x2", i["x"]) >= start and i["x"] <= end]
    marks = [item for item in inside if "x2" not in item]
    if len(marks) <= MOST_MARKS:
        return {**one, "items": inside}
    places: dict[int, list[dict[str, Any]]] = {}
    for item in marks:
        place = int((item["x"] - start) / (end - start) * MOST_MARKS)
        places.setdefault(place, []).append(item)
    bars = [item for item in inside if "x2" in item]
    return {**one, "items": [*bars, *map(_together, places.values())]}


def _together(items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    worst = min(items, key=lambda item: _WORST.index(item["tone"]))
    if len(items) == 1:
        return worst
    told = [item["text"] for item in items[:SAID]]
    more = [f"… {len(items) - SAID:,} more"] if len(items) > SAID else []
    return {**worst, "text": "\n".join([*told, *more]), "n": len(items)}


def nonfinite_lane(clock: Clock, keyed: dict[str, list[Curve]]) -> dict[str, Any]:
    """NaN and infinities of all shown series."""
    items = [
        mark(
            clock.of_step(curve.attempt, step),
            "triangle",
            "critical",
            f"{key} = {kind} at step {step:,}, attempt {curve.attempt}",
        )
        for key, curves in keyed.items()
        for curve in curves
        for step, kind in curve.nonfinite
    ]
    return lane("NaN / Inf", items)


def attempt_lane(clock: Clock, attempts: Sequence[AttemptInfo]) -> dict[str, Any]:
    """One bar an attempt; all but the newest are drawn as ended."""
    newest = max((a.number for a in attempts), default=-1)
    items: list[dict[str, Any] | None] = []
    for a in attempts:
        if a.first_step is None or a.last_step is None:
            continue
        start, end = clock.of_step(a.number, a.first_step), clock.of_step(a.number, a.last_step)
        bar = mark(start, "bar", "run" if a.number == newest else "old", _attempt_text(a, newest))
        if bar is not None:
            items.append({**bar, "x2": end, "label": f"attempt {a.number}"})
    return lane("Attempts", items)


def _attempt_text(a: AttemptInfo, newest: int) -> str:
    fork = f", forked at step {a.fork_step:,}" if a.fork_step is not None else ""
    state = a.state if a.number == newest else "ended"
    return f"attempt {a.number} ({state}): steps {a.first_step:,} to {a.last_step:,}{fork}"


def checkpoint_lane(
    clock: Clock, checkpoints: Sequence[Sketch], href: Callable[[int, int], str]
) -> dict[str, Any]:
    """Checkpoints that are there or should be: tick = complete, cross = damaged, failed or lost,
    ring = being saved, or only spoken of."""
    items = []
    for c in checkpoints:
        if c.worth is Worth.DELETED:
            continue
        shape, tone = _CHECKPOINTS.get(c.worth, ("cross", "critical"))
        told = f"{c.worth.value}, {c.level.value}".replace("_", " ")
        items.append(
            mark(
                clock.of_step(c.attempt, c.step, c.saved_at_ns),
                shape,
                tone,
                f"checkpoint {c.step:,}, attempt {c.attempt}: {told}",
                href(c.attempt, c.step),
            )
        )
    return lane("Checkpoints", items)


def evaluation_lane(
    clock: Clock, scored: Sequence[tuple[int, int, str, bool]], href: Callable[[int], str]
) -> dict[str, Any]:
    """Evaluated checkpoints: (attempt, step, what was measured, one of it is the best)."""
    items = [
        mark(
            clock.of_step(attempt, step),
            "diamond" if top else "circle",
            "ok" if top else "info",
            f"evaluated at step {step:,}: {text}",
            href(step),
        )
        for attempt, step, text, top in scored
    ]
    return lane("Evaluations", items)


def node_lane(clock: Clock, events: Sequence[NodeEvent]) -> dict[str, Any]:
    """What happened to the machines of this run."""
    items = [
        mark(
            clock.of_time(e.time_ns),
            "square",
            "critical" if e.severity in ("error", "critical", "fatal") else "warn",
            said(e),
            reverse("host", args=[e.node]),
        )
        for e in events
    ]
    return lane("Node events", items)


def finding_lane(
    clock: Clock, findings: Sequence[Finding], incidents: Sequence[Any], href: Callable[[int], str]
) -> dict[str, Any]:
    """Incidents as octagons that lead to their page, other findings as diamonds; what was taken
    back stands on the page of its incident only."""
    items = [_incident_mark(clock, i, href(i.id)) for i in incidents]
    paged = {(i.attempt, i.onset_step) for i in incidents}
    for f in findings:
        drawn = (f.attempt, f.onset_step) in paged and f.kind != SCRIPT_ALERT
        if drawn or f.severity is FindingSeverity.PAGE or f.title.startswith("taken back:"):
            continue
        items.append(mark(_place(clock, f), "diamond", _TONE[f.severity], f.title))
    return lane("Findings", items)


def _place(clock: Clock, item: Any) -> float | None:
    if item.onset_step is None:
        return clock.of_time(item.onset_time_ns)
    return clock.of_step(item.attempt, item.onset_step, item.onset_time_ns)


def _incident_mark(clock: Clock, incident: Any, href: str) -> dict[str, Any] | None:
    tone = _TONE[incident.severity] if incident.state != "resolved" else "info"
    text = f"{incident.label} ({incident.state}): {incident.title}"
    return mark(_place(clock, incident), "octagon", tone, text, href)


def order_lane(clock: Clock, orders: Sequence[Any], href: Callable[[int], str]) -> dict[str, Any]:
    """Rollback orders at the step they go back to."""
    tones = {"recovered": "ok", "failed": "critical"}
    items = [
        mark(
            clock.of_step(o.attempt, o.step),
            "back",
            tones.get(o.state, "run"),
            f"rollback order {o.id} to step {o.step:,}: {o.state}",
            href(o.id),
        )
        for o in orders
    ]
    return lane("Rollbacks", items)


def planned_lane(clock: Clock, planned: Sequence[Any], href: str) -> dict[str, Any]:
    """What people said is planned: a bar where it has an end, else a ring where it begins.

    On a time axis only what the newest attempt with its first step has reached.
    """
    items = []
    for info in planned:
        change = info.change
        attempt = _attempt_at(clock, change.from_step)
        if attempt is None:
            continue
        text = f"planned: {change.words} (said by {info.said_by})"
        begin = mark(clock.of_step(attempt, change.from_step), "hollow", "info", text, href)
        if begin is not None and change.to_step is not None:
            begin |= {"x2": clock.of_step(attempt, change.to_step), "label": change.kind_words}
        items.append(begin)
    return lane("Planned", items)


def _attempt_at(clock: Clock, step: int) -> int | None:
    """The newest attempt that logged a step; on a step axis every step has a place."""
    with_it = [c.attempt for c in clock.curves if c.step[0] <= step <= c.step[-1]]
    return with_it[-1] if with_it else 0 if clock.kind == "step" else None


def onset_mark(clock: Clock, incident: Any) -> dict[str, Any] | None:
    """The onset of an incident as a line through all rows."""
    x = _place(clock, incident)
    if x is None:
        return None
    label = f"onset {incident.onset_step:,}" if incident.onset_step is not None else "onset"
    return {"x": x, "kind": "onset", "label": label}


def first_mark(clock: Clock, incident: Any) -> dict[str, Any] | None:
    """The earliest signal, when it moved before the onset."""
    signal = incident.earliest_signal
    if signal is None or signal.step == incident.onset_step:
        return None
    x = clock.of_step(incident.attempt, signal.step, signal.time_ns)
    return (
        None
        if x is None
        else {"x": x, "kind": "first", "label": f"first: {signal.words or signal.series}"}
    )
