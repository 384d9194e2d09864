"""The run list: what each run looks like right now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from apps.checkpoints import store as checkpoints
from apps.checkpoints.records import CheckpointInfo
from apps.core.records import Candidate
from apps.dashboard import series
from apps.incidents import store as incidents
from apps.incidents.domain.correlate import SCRIPT_ALERT
from apps.incidents.domain.incident import IncidentInfo, IncidentState
from apps.logs import store as logs
from apps.metrics import store as metrics
from apps.rollbacks import services as rollback_services
from apps.rollbacks import store as rollbacks
from apps.rollbacks.records import OrderInfo
from apps.runs import store as runs
from apps.runs.records import AttemptInfo, RunInfo

PAGE = 25
SPARK_POINTS = 60
LAG_SAID_S = 60.0
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
    order: OrderInfo | None
    last_ns: int | None

    @property
    def silent(self) -> bool:
        """Whether its silence, or our lag, is to be said."""
        return self.run.state == "no_contact" or self.run.lag_s >= LAG_SAID_S

    @property
    def urgency(self) -> int:
        """Sorting: open page, no contact or failure, warning, running, finished."""
        if self.incident is not None:
            return 0 if self.incident.page else 3
        return _URGENCY.get(self.run.state, 5)


def open_incidents(limit: int = 50) -> list[IncidentInfo]:
    """Incidents that are not over, most urgent first."""
    query = incidents.IncidentQuery(unresolved=True, limit=limit)
    return sorted((found for _, found in incidents.list_urgent(query)), key=_most_urgent)


def _most_urgent(incident: IncidentInfo) -> tuple[bool, bool, bool, int]:
    """What nothing was done about first, pages, what a detector saw before what a script said,
    newest first."""
    mitigated = incident.state is IncidentState.MITIGATED
    return mitigated, not incident.page, incident.kind == SCRIPT_ALERT, -incident.id


def waiting_of(run_ids: Collection[int]) -> dict[int, list[IncidentInfo]]:
    """run id -> its incidents that are not over, most urgent first."""
    found: dict[int, list[IncidentInfo]] = {}
    for incident in sorted(incidents.waiting(run_ids), key=_most_urgent):
        found.setdefault(incident.run_id, []).append(incident)
    return found


@dataclass(frozen=True, slots=True)
class _Known:
    """What a few statements say about all runs of a page, by run id."""

    newest: Mapping[int, AttemptInfo]
    waiting: Mapping[int, Sequence[IncidentInfo]]
    orders: Mapping[int, OrderInfo]
    heard: Mapping[int, int]
    complete: Mapping[int, CheckpointInfo]


def rows(before: int | None = None) -> tuple[list[Row], int | None]:
    """One page of runs by urgency, and where the next page starts."""
    page = runs.list_runs(PAGE, before)
    ids = [run.id for run in page]
    newest = runs.newest_attempts(ids)
    known = _Known(
        newest=newest,
        waiting=waiting_of(ids),
        orders=rollbacks.active_of(ids),
        heard=logs.heard({run_id: attempt.number for run_id, attempt in newest.items()}),
        complete=checkpoints.newest_complete(ids),
    )
    found = sorted((_row(run, known) for run in page), key=lambda r: r.urgency)
    return found, page[-1].id if len(page) == PAGE else None


def _row(run: RunInfo, known: _Known) -> Row:
    newest = known.newest.get(run.id)
    spark, loss = _loss(run.id, newest.number if newest else None)
    incident = next(iter(known.waiting.get(run.id, ())), None)
    back = _candidate(run.id, incident) if _dated(incident) else known.complete.get(run.id)
    return Row(
        run=run,
        attempt=newest.number if newest else None,
        loss=loss,
        spark=spark,
        good=back,
        speaking=known.heard.get(run.id, 0),
        world_size=run.world_size,
        incident=incident,
        order=known.orders.get(run.id),
        last_ns=newest.last_ns if newest else None,
    )


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
    if _dated(incident):
        return _candidate(run_id, incident)
    return checkpoints.newest_complete([run_id]).get(run_id)


def _dated(incident: IncidentInfo | None) -> TypeGuard[IncidentInfo]:
    return incident is not None and incident.onset_step is not None


def _candidate(run_id: int, incident: IncidentInfo) -> Candidate | None:
    ranked = rollback_services.candidates(run_id, incident)
    return next((candidate for candidate in ranked if candidate.eligible), None)
