"""Watches how restarts begin: at the right step, from the right place, into the right directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apps.checkpoints import store as checkpoints
from apps.core.records import Finding
from apps.incidents import services as incident_services
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentChange
from apps.rollbacks import gather, loads_store, store
from apps.rollbacks.domain.arrival import KINDS, Start, Told, at_step, judge
from apps.rollbacks.domain.lineage import contains, past
from apps.rollbacks.domain.state import OrderState
from apps.rollbacks.records import OrderInfo
from apps.runs import store as runs
from apps.runs.records import AttemptInfo

_STANDING = (OrderState.RESUMED, OrderState.RECOVERED)
_FIRST_ROWS = 1_000


def arrive(run_id: int, attempt: int, now_ns: int) -> list[IncidentChange]:
    """What is wrong with how the newest attempt began; for `alerts.services.plan`.

    Called in the writer's transaction, before the order is followed up. A finding stands until
    another attempt has begun. Repeated with nothing new it changes nothing and returns [].

    Cost: one statement before the first restart, then five; a start that belongs to a rollback
    three more. None of them reads an inventory.
    """
    attempts = runs.attempts(run_id)
    if len(attempts) < 2 or attempts[-1].number != attempt or attempts[-1].first_step is None:
        return []
    told_before = [f for kind in KINDS for f in incidents.findings_of_kind(run_id, kind)]
    changes = _close(run_id, [f for f in told_before if f.attempt < attempt], attempts[-1], now_ns)
    known = {finding.key for finding in told_before}
    told = _told(run_id, attempts)
    start = _start(run_id, attempts, told)
    found = [finding for finding in judge(start, told) if finding.key not in known]
    return changes + (incident_services.absorb(run_id, attempt, found, now_ns) if found else [])


def _told(run_id: int, attempts: Sequence[AttemptInfo]) -> Told | None:
    """The order whose branch the newest attempt belongs to."""
    newest = attempts[-1].number
    given = [order for order in store.orders(run_id) if order.from_attempt < newest]
    order = given[-1] if given else None
    if order is None or not (order.waiting or order.state in _STANDING):
        return None
    return Told(
        label=order.label,
        step=order.step,
        uri=order.path,
        branch=order.branch_dir,
        fresh=order.waiting or order.resumed_attempt == newest,
        reached_step=_reached(order, attempts),
    )


def _reached(order: OrderInfo, attempts: Sequence[AttemptInfo]) -> int | None:
    return next((a.last_step for a in attempts if a.number == order.from_attempt), None)


def _start(run_id: int, attempts: Sequence[AttemptInfo], told: Told | None) -> Start:
    newest, before = attempts[-1], attempts[-2]
    first = newest.first_step or 0
    start = Start(
        attempt=newest.number,
        first_step=first,
        seen_step=newest.last_step or first,
        interval_steps=1,
        started_ns=newest.started_ns,
        seen_ns=newest.last_ns or newest.started_ns,
        whole_step=_whole_step(run_id, attempts),
        before_step=before.last_step,
    )
    if told is None:
        return start
    return replace(
        start,
        interval_steps=_interval_steps(run_id, newest.number, first, told.step),
        loaded=loads_store.of(run_id, newest.number),
        saved=checkpoints.paths(run_id, newest.number),
    )


def _interval_steps(run_id: int, attempt: int, first_step: int, step: int) -> int:
    """Between two logged rows, looked up only if that makes a difference."""
    key = None if at_step(first_step, step, 1) else gather.loss_key(run_id)
    if key is None:
        return 1
    rows = gather.curve(run_id, key, attempt, (first_step, first_step + _FIRST_ROWS))
    return gather.log_interval(rows)


def _whole_step(run_id: int, attempts: Sequence[AttemptInfo]) -> int | None:
    """The newest complete checkpoint that led to the attempt before the newest one."""
    history = past(gather.branches(attempts), attempts[-2].number)
    whole = checkpoints.complete_places(run_id)
    return next((step for attempt, step in whole if contains(history, attempt, step)), None)


def _close(
    run_id: int, earlier: Sequence[Finding], start: AttemptInfo, now_ns: int
) -> list[IncidentChange]:
    """What an earlier attempt did wrong is over with it."""
    changes: list[IncidentChange] = []
    for found in earlier:
        if found.closed_time_ns is None:
            at_ns = max(found.onset_time_ns, start.started_ns)
            over = replace(found, closed_step=found.seen_step, closed_time_ns=at_ns)
            changes += incident_services.absorb(run_id, found.attempt, [over], now_ns)
    return changes
