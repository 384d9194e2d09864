"""Follows orders and open incidents while new attempts log: resumed, recovered, failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from apps.accounts.records import SYSTEM
from apps.core.plain import packed
from apps.core.records import Evidence
from apps.incidents import services as incident_services
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo, Resolution
from apps.rollbacks import files, gather, store
from apps.rollbacks.domain.arrival import KINDS
from apps.rollbacks.domain.scene import FAILURE
from apps.rollbacks.domain.state import Act, OrderState, transition
from apps.rollbacks.domain.verdict import Outcome, Verdict, judge
from apps.rollbacks.records import OrderChange, OrderInfo
from apps.runs import store as runs
from apps.runs.records import AttemptInfo

_MAX_OPEN = 200


@dataclass(frozen=True, slots=True)
class _Watch:
    run_id: int
    attempts: Sequence[AttemptInfo]
    open_incidents: Sequence[IncidentInfo]
    now_ns: int


def watch(run_id: int, attempt: int, now_ns: int) -> list[OrderChange]:
    """What new rows say about the active order and the open incidents of earlier attempts.

    Called in the writer's transaction after detection. An order becomes resumed when a new attempt
    logs, and recovered or failed when there are rows enough; an incident whose run recovered is
    resolved here. A run that recovered without an order resolves its incident too. Repeated with
    nothing new it changes nothing and returns [].

    Cost: one statement before the first restart. Later it grows with the open incidents of earlier
    attempts: for each of them (200 at most) the loss is read 3,000 steps before its onset and a few
    hundred behind it, 5 ms with a row a step. Ranks and other keys cost nothing.
    """
    if len(runs.attempts(run_id)) < 2:
        return []
    with transaction.atomic():
        # The run first, then the order: the same sequence as in services.request. What was read
        # before the lock may be old by now.
        runs.lock_run(run_id)
        scene = _Watch(
            run_id, runs.attempts(run_id), incidents.waiting([run_id], _MAX_OPEN), now_ns
        )
        active = store.active(run_id)
        order = None if active is None else store.lock(run_id, active.id)
        changes: list[OrderChange] = []
        if order is not None and order.waiting:
            order, changes = _await_start(scene, order)
        if order is not None and order.state is OrderState.RESUMED:
            changes += _judge_order(scene, order)
        return changes + _recoveries(scene, order)


def mark_resumed(order: OrderInfo, start: AttemptInfo, *, now_ns: int, why: str) -> OrderInfo:
    """The order, now followed by the attempt `start`."""
    change = transition(
        order.state, Act.RESUME, actor=f"attempt {start.number}", at_ns=now_ns, why=why
    )
    fields = {"resumed_attempt": start.number, "resumed_step": start.fork_step}
    changed = store.save_state(order, change, fields)
    files.sync_on_commit(order.run_id)
    _remember(changed, "resumed", why, now_ns)
    mark_mitigated(changed, now_ns=now_ns, why=why, attempt=start.number)
    return changed


def mark_mitigated(order: OrderInfo, *, now_ns: int, why: str, attempt: int | None = None) -> None:
    """The incident of an order that is followed now: something was done, the verdict is to come.

    attempt: the one that follows it, if it runs; one that has relapsed already changes nothing.
    """
    if order.incident_id is None:
        return
    for found in incidents.get_many(order.run_id, [order.incident_id]):
        again = attempt is not None and attempt == found.relapsed_attempt
        if found.unresolved and not again:
            why = f"{order.label}: {why}"
            incident_services.mitigate(order.run_id, found.id, now_ns=now_ns, reason=why)


def end(order: OrderInfo, act: Act, *, now_ns: int, why: str, verdict: Verdict) -> OrderInfo:
    """The order, ended with a verdict."""
    change = transition(order.state, act, actor=SYSTEM.name, at_ns=now_ns, why=why)
    changed = store.save_state(order, change, {"verdict": packed(verdict)})
    files.sync_on_commit(order.run_id)
    _remember(changed, change.after.value, why, now_ns)
    return changed


def _remember(order: OrderInfo, what: str, why: str, now_ns: int) -> None:
    """A line in the history of the incident."""
    if order.incident_id is None:
        return
    text = f"{order.label} to step {order.step} {what}: {why}"
    line = incidents.EventInfo(now_ns, f"order:{order.id}:{what}", text, order.actor)
    incident_services.note(order.run_id, order.incident_id, line)


# -- waiting for the new attempt


def _await_start(scene: _Watch, order: OrderInfo) -> tuple[OrderInfo, list[OrderChange]]:
    """Resumed by a later attempt that began at the ordered step, or, once acknowledged, at all."""
    started = [
        a
        for a in scene.attempts
        if a.number > order.from_attempt and a.fork_step is not None and a.first_step is not None
    ]
    if not started:
        return order, []
    start = started[-1]
    if _at_ordered_step(order, start):
        why = f"attempt {start.number} logs from step {start.fork_step} on"
        return _resumed(scene, order, start, why)
    other = (
        f"attempt {start.number} logs from step {start.fork_step} on, the order says {order.step}"
    )
    if order.state is OrderState.REQUESTED:
        store.note(order, at_ns=scene.now_ns, actor=SYSTEM.name, why=f"not obeyed: {other}")
        return order, []
    if order.onset_step is not None and (start.fork_step or 0) > order.onset_step:
        why = f"{other}; that is behind the onset at step {order.onset_step}"
        return order, [_failed(scene, order, start.number, _spoken(Outcome.RELAPSED, why))]
    return _resumed(scene, order, start, other)


def _at_ordered_step(order: OrderInfo, start: AttemptInfo) -> bool:
    """Whether the first logged row is the one that follows the ordered checkpoint."""
    if start.fork_step is None:
        return False
    ahead = start.fork_step - order.step
    if ahead in (0, 1):
        return True
    key = gather.loss_key(order.run_id)
    if ahead < 0 or key is None:
        return False
    last = start.fork_step + 1_000
    rows = gather.curve(order.run_id, key, start.number, (start.fork_step, last))
    return ahead <= gather.log_interval(rows)


def _resumed(
    scene: _Watch, order: OrderInfo, start: AttemptInfo, why: str
) -> tuple[OrderInfo, list[OrderChange]]:
    changed = mark_resumed(order, start, now_ns=scene.now_ns, why=why)
    evidence = (Evidence(why, step=start.fork_step),)
    change = OrderChange(
        order.run_id, order.incident_id, order.id, start.number, "resumed", evidence
    )
    return changed, [change]


# -- the verdict


def _judge_order(scene: _Watch, order: OrderInfo) -> list[OrderChange]:
    case = gather.Case(
        run_id=order.run_id,
        kind=order.kind,
        attempt=order.from_attempt,
        onset_step=order.step if order.onset_step is None else order.onset_step,
    )
    trial = gather.trial(case, scene.attempts)
    if trial is None:
        return []
    verdict = judge(trial)
    if verdict.outcome is Outcome.UNDECIDED:
        verdict = _new_incident(scene, order) or verdict
    newest = scene.attempts[-1].number
    if verdict.outcome is Outcome.RELAPSED:
        return [_failed(scene, order, newest, verdict)]
    if verdict.outcome is Outcome.RECOVERED:
        why = "; ".join(e.text for e in verdict.evidence)
        end(order, Act.RECOVER, now_ns=scene.now_ns, why=why, verdict=verdict)
        resolved = _resolve(scene, order.incident_id, f"{order.label}: {why}")
        return [_change(order, newest, "recovered", verdict, resolved)]
    return []


def _failed(scene: _Watch, order: OrderInfo, attempt: int, verdict: Verdict) -> OrderChange:
    why = "; ".join(e.text for e in verdict.evidence)
    end(order, Act.FAIL, now_ns=scene.now_ns, why=why, verdict=verdict)
    if order.incident_id is not None:
        incident_services.relapse(
            scene.run_id, order.incident_id, attempt, now_ns=scene.now_ns, reason=why
        )
    return _change(order, attempt, "failed", verdict, False)


def _new_incident(scene: _Watch, order: OrderInfo) -> Verdict | None:
    """Relapsed if the new attempt has a paging incident of the same family."""
    first = order.from_attempt if order.resumed_attempt is None else order.resumed_attempt
    for incident in scene.open_incidents:
        same = (incident.kind == FAILURE) == (order.kind == FAILURE) and incident.kind not in KINDS
        newest = max(incident.attempt, incident.relapsed_attempt or 0)
        if incident.page and newest >= first and same:
            return _spoken(
                Outcome.RELAPSED, f"{incident.label} in the new attempt: {incident.title}"
            )
    return None


def _spoken(outcome: Outcome, text: str) -> Verdict:
    weight = 1 if outcome is Outcome.RECOVERED else -1
    return Verdict(outcome, (Evidence(text, weight=weight),), {})


def _change(
    order: OrderInfo, attempt: int, what: str, verdict: Verdict, resolves: bool
) -> OrderChange:
    where = (order.run_id, order.incident_id, order.id, attempt)
    return OrderChange(*where, what, verdict.evidence, resolves)


def _resolve(scene: _Watch, incident_id: int | None, why: str) -> bool:
    if incident_id is None:
        return False
    changes = incident_services.resolve(
        scene.run_id, incident_id, Resolution.RECOVERED, scene.now_ns, reason=why
    )
    return bool(changes)


# -- recovered without an order


def _recoveries(scene: _Watch, order: OrderInfo | None) -> list[OrderChange]:
    changes: list[OrderChange] = []
    for incident in scene.open_incidents:
        ours = order is not None and order.incident_id == incident.id
        if ours and order is not None and order.state is OrderState.RESUMED:
            continue
        verdict = _recovered(scene, incident)
        if verdict is None:
            continue
        why = "; ".join(e.text for e in verdict.evidence)
        number = scene.attempts[-1].number
        if ours and order is not None:
            text = f"the run recovered in attempt {number} without this order"
            spoken = _spoken(Outcome.RECOVERED, text)
            end(order, Act.FAIL, now_ns=scene.now_ns, why=text, verdict=spoken)
        resolved = _resolve(scene, incident.id, f"attempt {number}: {why}")
        found: dict[str, Any] = {"evidence": verdict.evidence, "resolves": resolved}
        changes.append(OrderChange(scene.run_id, incident.id, None, number, "recovered", **found))
    return changes


def _recovered(scene: _Watch, incident: IncidentInfo) -> Verdict | None:
    """The verdict on the newest attempt, if it recovered from this incident."""
    fault = gather.fault_of(incident, scene.attempts)
    newest = scene.attempts[-1]
    if incident.attempt >= newest.number or fault.onset_step is None:
        return None
    if incident.relapsed_attempt is not None and not _beyond(newest, incident):
        return None
    onset = fault.onset_step if incident.onset_step is None else incident.onset_step
    case = gather.Case(scene.run_id, incident.kind, incident.attempt, onset)
    trial = gather.trial(case, scene.attempts)
    if trial is None:
        return None
    verdict = judge(trial)
    return verdict if verdict.outcome is Outcome.RECOVERED else None


def _beyond(newest: AttemptInfo, incident: IncidentInfo) -> bool:
    """Whether another attempt than the one that relapsed has passed the step where it did."""
    later = newest.number > (incident.relapsed_attempt or 0)
    return later and (newest.last_step or 0) > (incident.relapsed_step or 0)
