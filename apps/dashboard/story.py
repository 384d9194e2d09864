"""One incident as a page and as an export: timeline, window, suspects, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from apps.checkpoints import store as checkpoints
from apps.core.records import Candidate, NodeEvent
from apps.dashboard import series
from apps.dashboard.curves import time_to_step
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.incidents.domain.timeline import Happening, TimelineItem, compose
from apps.logs import store as logs
from apps.nodes import store as nodes
from apps.rollbacks import services as rollback_services
from apps.rollbacks import store as rollbacks
from apps.runs import store as runs
from apps.runs.domain.topology import first_missing
from apps.runs.records import RunInfo

MINUTE_NS = 60_000_000_000
BEFORE_NS, AFTER_NS = 30 * MINUTE_NS, 10 * MINUTE_NS
BEFORE_STEPS, AFTER_STEPS = 200, 120
"""The window in steps when a run does thousands of steps in half an hour."""
SHOWN_CANDIDATES = 3


@dataclass(frozen=True, slots=True)
class Story:
    """Everything the incident page shows."""

    incident: IncidentInfo
    run: RunInfo
    timeline: Sequence[TimelineItem]
    window: tuple[int, int] | None
    candidates: Sequence[Candidate]
    missing: Sequence[str]
    orders: Sequence[Any]
    events: Sequence[Any]

    @property
    def top(self) -> Sequence[Candidate]:
        """The best candidates."""
        return self.candidates[:SHOWN_CANDIDATES]


def story(incident: IncidentInfo, now_ns: int) -> Story:
    """The incident with everything around it."""
    run = runs.run_by_id(incident.run_id)
    placed = runs.placements(run.id, incident.attempt)
    hosts = sorted({p.node for p in placed.values()})
    window_ns = (incident.onset_time_ns - BEFORE_NS, incident.onset_time_ns + AFTER_NS)
    seen = nodes.events(hosts, *window_ns) if hosts else []
    orders = [o for o in rollbacks.orders(run.id) if o.incident_id == incident.id]
    happenings = [*_saves(run, incident), *_nodes(seen), *_orders(orders)]
    found = incidents.findings(run.id, incident.id)
    return Story(
        incident=incident,
        run=run,
        timeline=compose(incident, found, happenings, now_ns),
        window=_window(run, incident),
        candidates=rollback_services.candidates(run.id, incident),
        missing=_missing(run, incident, hosts, seen),
        orders=orders,
        events=incidents.events(run.id, incident.id),
    )


def _saves(run: RunInfo, incident: IncidentInfo) -> list[Happening]:
    """Checkpoints of the attempt near the onset: the last two before and the first after."""
    saved = [c for c in checkpoints.checkpoints(run.id) if c.attempt == incident.attempt]
    saved.sort(key=lambda c: c.saved_at_ns)
    before = [c for c in saved if c.saved_at_ns < incident.onset_time_ns][-2:]
    after = [c for c in saved if c.saved_at_ns >= incident.onset_time_ns][:1]
    return [
        Happening(
            c.saved_at_ns,
            "checkpoint",
            f"checkpoint of step {c.step:,} saved ({c.level.replace('_', ' ')})",
            c.step,
        )
        for c in (*before, *after)
    ]


def _nodes(events: Sequence[NodeEvent]) -> list[Happening]:
    return [
        Happening(e.time_ns, "node", f"{e.node}: {e.kind} {e.message}", node=e.node) for e in events
    ]


def _orders(orders: Sequence[Any]) -> list[Happening]:
    return [
        Happening(o.requested_at_ns, "order", f"rollback to step {o.step:,} ordered by {o.actor}")
        for o in orders
    ]


def _window(run: RunInfo, incident: IncidentInfo) -> tuple[int, int] | None:
    """Steps around the onset: half an hour before and ten minutes after, at most a few hundred."""
    key = series.shown(run.id).loss
    if key is None or incident.onset_step is None:
        return None
    curves = series.curves(run.id, [key], points=1000, attempt=incident.attempt)[key]
    curves = [c for c in curves if c.rank is None and len(c.step)]
    start = time_to_step(curves, incident.onset_time_ns - BEFORE_NS)
    end = time_to_step(curves, incident.onset_time_ns + AFTER_NS)
    low = max(int(start or 0), incident.onset_step - BEFORE_STEPS)
    high = min(int(end or incident.onset_step), incident.onset_step + AFTER_STEPS)
    return max(0, low), max(high, incident.onset_step) + 10


def _missing(
    run: RunInfo, incident: IncidentInfo, hosts: Sequence[str], seen: Sequence[NodeEvent]
) -> list[str]:
    """Evidence that would help and is not there, in words."""
    found = []
    spoke = {event.node for event in seen}
    quiet = [host for host in hosts if host not in spoke]
    if not hosts:
        found.append("It is not known on which hosts this attempt ran.")
    elif quiet:
        found.append(f"No node events from {', '.join(quiet[:8])} in this window.")
    activity = logs.rank_activity(run.id, incident.attempt)
    heard = {a.rank for a in activity if a.rank is not None and a.last_ns is not None}
    size = run.world_size or 0
    silent = size - sum(rank < size for rank in heard)
    if silent:
        shown = ", ".join(str(rank) for rank in first_missing(size, heard, 12))
        more = ", …" if silent > 12 else ""
        found.append(f"No log lines from {silent} of {size} ranks ({shown}{more}).")
    if incident.onset_step is not None and not checkpoints.checkpoints(run.id):
        found.append("No checkpoint of this run is known, so there is nothing to roll back to.")
    if not incident.settled:
        found.append("Late log lines may still arrive; the first failure may change.")
    return found


def _utc(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"


def markdown(told: Story) -> str:
    """The post-mortem as Markdown: what, since when, evidence, candidates, orders."""
    incident = told.incident
    lines = [
        f"# {incident.label}: {incident.title}",
        "",
        f"- run: {told.run.key}, attempt {incident.attempt}",
        f"- state: {incident.state}" + (f" ({incident.resolution})" if incident.resolution else ""),
        f"- onset: step {incident.onset_step}, {_utc(incident.onset_time_ns)}",
        f"- cause: {incident.cause_hint}",
        "",
        "## Timeline",
        "",
    ]
    for item in told.timeline:
        mark = f" **{item.mark}**" if item.mark else ""
        step = f" step {item.step:,}" if item.step is not None else ""
        lines.append(f"- {_utc(item.time_ns)}{mark}{step} [{item.role}] {item.text}")
    lines += ["", "## Hypotheses", ""]
    for guess in incident.hypotheses:
        lines.append(f"- {guess.text} ({guess.confidence:.0%}); test: {guess.test}")
        lines += [f"  - {_sign(e.weight)} {e.text}" for e in guess.evidence]
    lines += ["", "## Suspects", ""]
    for suspect in incident.suspects:
        place = f"rank {suspect.rank} on {suspect.node}"
        lines.append(f"- {place}: {suspect.fault_class} ({suspect.confidence:.0%})")
        lines += [f"  - {_sign(e.weight)} {e.text}" for e in suspect.evidence]
    lines += ["", "## Rollback candidates", ""]
    for candidate in told.candidates:
        word = "eligible" if candidate.eligible else "not eligible"
        lines.append(f"- step {candidate.step:,} (attempt {candidate.attempt}): {word}")
        lines += [f"  - {_sign(e.weight)} {e.text}" for e in candidate.reasons]
    lines += ["", "## Missing evidence", ""]
    lines += [f"- {text}" for text in told.missing or ["none known"]]
    return "\n".join(lines) + "\n"


def _sign(weight: int) -> str:
    return "+" if weight > 0 else "-" if weight < 0 else "·"


def as_json(told: Story) -> dict[str, Any]:
    """The same as one JSON document."""
    return {
        "incident": asdict(told.incident),
        "run": told.run.key,
        "timeline": [asdict(item) for item in told.timeline],
        "candidates": [asdict(candidate) for candidate in told.candidates],
        "missing": list(told.missing),
        "events": [asdict(event) for event in told.events],
    }
