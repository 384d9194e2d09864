"""Everything that is known of one incident, for its page, its export and the API."""

from __future__ import annotations

from collections.abc import Sequence

from apps.checkpoints import store as checkpoints
from apps.core.records import NodeEvent
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.incidents.domain.similar import similar
from apps.incidents.domain.timeline import Happening, compose
from apps.logs import store as logs
from apps.nodes import store as nodes
from apps.nodes.domain.telling import said
from apps.rollbacks import cards, services, store
from apps.rollbacks.records import Account, OrderInfo
from apps.runs import store as runs
from apps.runs.domain.topology import first_missing
from apps.runs.records import RunInfo

MINUTE_NS = 60_000_000_000
BEFORE_NS, AFTER_NS = 30 * MINUTE_NS, 10 * MINUTE_NS
_PROJECT_RUNS = 500
_SHOWN = 8
_DOUBTFUL_NS = 1_000_000_000
"""A clock so far off is named beside the timeline."""


def account_of(incident: IncidentInfo, now_ns: int) -> Account:
    """The incident with everything around it; some thirty statements."""
    run = runs.run_by_id(incident.run_id)
    placed = runs.placements(run.id, incident.attempt)
    hosts = sorted({p.node for p in placed.values()})
    window_ns = (incident.onset_time_ns - BEFORE_NS, incident.onset_time_ns + AFTER_NS)
    seen = nodes.events(hosts, *window_ns) if hosts else []
    orders = [o for o in store.orders(run.id) if o.incident_id == incident.id]
    happenings = [*_saves(run, incident), *_nodes(seen), *_orders(orders)]
    found = incidents.findings(run.id, incident.id)
    project = [r.id for r in runs.newest_runs(run.project, _PROJECT_RUNS)]
    lines = incidents.events(run.id, incident.id)
    ranked = services.candidates(run.id, incident)
    return Account(
        incident=incident,
        run=run,
        findings=found,
        timeline=compose(incident, found, happenings, now_ns),
        candidates=ranked,
        missing=_missing(run, incident, hosts, seen),
        orders=orders,
        events=[line for line in lines if not line.is_note],
        notes=incidents.notes(run.id, incident.id),
        similar=similar(incident, incidents.of_runs(project)),
        card=cards.card(incident, findings=found, candidates=ranked),
        movers=incidents.movers(run.id, incident.id),
    )


def _saves(run: RunInfo, incident: IncidentInfo) -> list[Happening]:
    """Checkpoints of the attempt near the onset: the last two before and the first after."""
    saved = [c for c in checkpoints.outlines(run.id) if c.attempt == incident.attempt]
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
    return [Happening(e.time_ns, "node", said(e), node=e.node) for e in events]


def _orders(orders: Sequence[OrderInfo]) -> list[Happening]:
    return [
        Happening(o.requested_at_ns, "order", f"rollback to step {o.step:,} ordered by {o.actor}")
        for o in orders
    ]


def _missing(
    run: RunInfo, incident: IncidentInfo, hosts: Sequence[str], seen: Sequence[NodeEvent]
) -> list[str]:
    """Evidence that would help and is not there, in words."""
    found = list[str]()
    spoke = {event.node for event in seen}
    quiet = [host for host in hosts if host not in spoke]
    if not hosts:
        found.append("It is not known on which hosts this attempt ran.")
    elif quiet:
        found.append(f"No node events from {', '.join(quiet[:_SHOWN])} in this window.")
    found += _clocks(run.id, incident.attempt)
    activity = logs.rank_activity(run.id, incident.attempt)
    heard = {a.rank for a in activity if a.rank is not None and a.last_ns is not None}
    size = run.world_size or 0
    silent = size - sum(rank < size for rank in heard)
    if silent:
        shown = ", ".join(str(rank) for rank in first_missing(size, heard, 12))
        more = ", …" if silent > 12 else ""
        found.append(f"No log lines from {silent} of {size} ranks ({shown}{more}).")
    if incident.onset_step is not None and not checkpoints.checkpoints(run.id, limit=1):
        found.append("No checkpoint of this run is known, so there is nothing to roll back to.")
    if not incident.settled:
        found.append("Late log lines may still arrive; the first failure may change.")
    return found


def _clocks(run_id: int, attempt: int) -> list[str]:
    """Hosts whose clock is so far off that the order of the timeline is in doubt."""
    off = [
        f"The clock of {c.node} is {abs(c.skew_ns) / 1e9:.1f} s "
        f"{'ahead' if c.skew_ns > 0 else 'behind'}: what it wrote happened "
        f"{'earlier' if c.skew_ns > 0 else 'later'} than it stands here."
        for c in logs.clocks(run_id, attempt)
        if c.skew_ns is not None and c.apart and abs(c.skew_ns) > _DOUBTFUL_NS
    ]
    return off[:_SHOWN]
