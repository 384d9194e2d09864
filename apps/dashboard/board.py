"""The run list: what each run looks like right now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.checkpoints import store as checkpoints
from apps.checkpoints.records import CheckpointInfo
from apps.core.records import Candidate
from apps.dashboard import series
from apps.incidents import store as incidents
from apps.incidents.domain.correlate import SCRIPT_ALERT
from apps.incidents.domain.incident import IncidentInfo
from apps.logs import store as logs
from apps.metrics import store as metrics
from apps.rollbacks import services as rollback_services
from apps.rollbacks import store as rollbacks
from apps.runs import store as runs
from apps.runs.records import RunInfo

PAGE = 25
SPARK_POINTS = 60
OPEN_STATES = ("open", "acknowledged")
_URGENCY = {"failed": 1, "no_contact": 2, "running": 4, "waiting": 5, "stopped": 6, "finished": 7}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the run list. speaking, world_size: ranks heard of, ranks there should be."""

    run: RunInfo
    attempt: int | None
    loss: float | None
    spark: Sequence[float | None]
    good: CheckpointInfo | Candidate | None
    speaking: int
    world_size: int | None
    incident: IncidentInfo | None
    order: Any
    last_ns: int | None

    @property
    def urgency(self) -> int:
        """Sorting: open page, no contact or failure, warning, running, finished."""
        if self.incident is not None:
            return 0 if self.incident.page else 3
        return _URGENCY.get(self.run.state, 5)


def open_incidents(limit: int = 50) -> list[IncidentInfo]:
    """Incidents that wait for somebody: pages first, what a detector saw before what a script said,
    newest first."""
    found = [
        incident
        for state in OPEN_STATES
        for incident in incidents.list_incidents(incidents.IncidentQuery(state=state, limit=limit))
    ]
    return sorted(found, key=lambda i: (not i.page, i.kind == SCRIPT_ALERT, -i.id))


def rows(before: int | None = None) -> tuple[list[Row], int | None]:
    """One page of runs by urgency, and where the next page starts."""
    page = runs.list_runs(PAGE, before)
    waiting: dict[int, IncidentInfo] = {}
    for incident in open_incidents(200):
        waiting.setdefault(incident.run_id, incident)
    found = sorted((_row(run, waiting.get(run.id)) for run in page), key=lambda r: r.urgency)
    return found, page[-1].id if len(page) == PAGE else None


def _row(run: RunInfo, incident: IncidentInfo | None) -> Row:
    attempts = runs.attempts(run.id)
    newest = attempts[-1] if attempts else None
    spark, loss = _loss(run.id, newest.number if newest else None)
    active = [o for o in rollbacks.orders(run.id) if o.active] if incident or attempts else []
    return Row(
        run=run,
        attempt=newest.number if newest else None,
        loss=loss,
        spark=spark,
        good=last_good(run.id, incident),
        speaking=len({a.rank for a in _activity(run.id, newest) if a.rank is not None}),
        world_size=run.world_size,
        incident=incident,
        order=active[-1] if active else None,
        last_ns=newest.last_ns if newest else None,
    )


def _activity(run_id: int, newest: Any) -> Sequence[Any]:
    """Ranks that were heard of; placed ones that never spoke are left out."""
    found = logs.rank_activity(run_id, newest.number) if newest else ()
    return [activity for activity in found if activity.last_ns is not None]


def _loss(run_id: int, attempt: int | None) -> tuple[list[float | None], float | None]:
    """Up to SPARK_POINTS values of the newest attempt's loss, and the newest value."""
    key = series.shown(run_id).loss
    if key is None or attempt is None:
        return [], None
    curves = series.curves(run_id, [key], points=SPARK_POINTS, attempt=attempt)[key]
    values: list[float | None] = [v for c in curves if c.rank is None for v in c.last]
    latest = metrics.latest(run_id, attempt, [key]).get(key)
    return values, latest[2] if latest else None


def last_good(run_id: int, incident: IncidentInfo | None) -> CheckpointInfo | Candidate | None:
    """What the run would go back to now: the best candidate of an open incident, else the newest
    complete checkpoint."""
    if incident is not None and incident.onset_step is not None:
        ranked = rollback_services.candidates(run_id, incident)
        return next((candidate for candidate in ranked if candidate.eligible), None)
    complete = [c for c in checkpoints.checkpoints(run_id) if c.complete]
    return max(complete, key=lambda c: c.saved_at_ns, default=None)
