"""Rollbacks: candidates, the order, its acknowledgement, the resume point."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require, require_any
from apps.core import live
from apps.core.clock import now_ns
from apps.core.errors import Conflict, NotFound, Refused
from apps.core.queue import Job, enqueue
from apps.core.records import Candidate
from apps.incidents import services as incident_services
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.rollbacks import choosing, files, store
from apps.rollbacks.choosing import Choice
from apps.rollbacks.domain.ranking import Ranking
from apps.rollbacks.domain.state import Act, OrderState, transition
from apps.rollbacks.launchers import handing
from apps.rollbacks.records import NewOrder, OrderInfo, RollbackRequest
from apps.rollbacks.resume import resume_point
from apps.rollbacks.watching import mark_mitigated, watch
from apps.runs import store as runs
from apps.runs.records import RunInfo

__all__ = [
    "acknowledge",
    "cancel",
    "candidates",
    "ranking",
    "request",
    "resume_point",
    "watch",
]

MAX_REASON = 2_000
MAX_KEY = 128
MAX_NODES = 4_096
MAX_RANGES = 100


def candidates(run_id: int, incident: IncidentInfo) -> list[Candidate]:
    """Checkpoints to roll back to for an incident, best first; none at or after the onset.

    About 21 statements, and up to 15 more for a run with restarts and rare saves, however many
    checkpoints, ranks and keys. Reads the newest 1,000 checkpoints and up to 9,000 steps of the
    loss, at most 21,000 where saves are rare (15 ms for a run of 1,250 rows).
    """
    return list(ranking(run_id, incident).candidates)


def ranking(run_id: int, incident: IncidentInfo) -> Ranking:
    """The candidates, and beside them the checkpoints that are none, with the reason."""
    return choosing.ranking(run_id, incident)


def request(asked: RollbackRequest) -> OrderInfo:
    """Orders a rollback; the same idempotency key again gives the same order.

    Raises Forbidden without the scope operate, Refused for a wrong confirmation, a missing reason,
    an incomplete checkpoint, or one that is no eligible candidate (unless forced), NotFound for an
    unknown run or checkpoint, Conflict if another order is active or the key was used otherwise.
    """
    require(asked.actor, "operate")
    _check_form(asked)
    run = runs.get_run(asked.run_key)
    if run is None:
        raise NotFound("no such run", where="run", hint="GET /api/v1/runs lists the runs")
    choosing.verify(run.id, asked.step)
    with transaction.atomic():
        runs.lock_run(run.id)
        earlier = store.with_key(run.id, asked.idempotency_key)
        if earlier is not None:
            return _same_order(earlier, asked)
        choice = choosing.choose(run, asked)
        choosing.check(choice, force=asked.force)
        _clear_the_way(run, asked)
        order = store.add(run.id, _new_order(asked, choice))
        _after_request(run, order, asked.actor)
    return order


def acknowledge(run_id: int, order_id: int, launch: str, actor: Actor) -> OrderInfo:
    """A launcher takes the order on; the same launch again changes nothing.

    Needs the scope operate or ingest. Raises Refused for an empty name, NotFound, Conflict if
    another launch was first, and IllegalTransition if the order has ended.
    """
    require_any(actor, ("operate", "ingest"))
    launch = launch.replace("\x00", "").strip()[:500]
    if not launch:
        raise Refused(
            "the launch has no name", where="launch", hint="send a stable id of the start"
        )
    with transaction.atomic():
        order = _locked(run_id, order_id)
        if order.launch and order.launch != launch:
            raise Conflict(
                f"{order.label} was acknowledged by {order.launch}", where="launch",
                hint="one launcher follows an order",
            )  # fmt: skip
        if order.launch:
            return order
        why = f"taken on by {launch}"
        change = transition(order.state, Act.ACKNOWLEDGE, actor=actor.name, at_ns=now_ns(), why=why)
        changed = store.save_state(order, change, {"launch": launch})
        mark_mitigated(changed, now_ns=change.at_ns, why=why)
        _tell(changed, actor, "rollback.acknowledged", order.state, why)
    return changed


def cancel(run_id: int, order_id: int, actor: Actor, reason: str) -> OrderInfo:
    """Takes back an order that no attempt has followed yet.

    Raises Forbidden, Refused without a reason, NotFound, IllegalTransition, Conflict while its
    hand-over is at work.
    """
    require(actor, "operate")
    if not reason.strip():
        raise Refused("a reason is missing", where="reason", hint="say why the order is taken back")
    with transaction.atomic():
        order = _locked(run_id, order_id)
        handing.check_free(run_id, order_id)
        change = transition(
            order.state, Act.CANCEL, actor=actor.name, at_ns=now_ns(), why=reason[:MAX_REASON]
        )
        changed = store.save_state(order, change)
        if order.launch and order.incident_id is not None:
            why = f"{order.label} was cancelled: {change.why}"
            incident_services.take_back(
                run_id, order.incident_id, actor=actor, now_ns=change.at_ns, reason=why
            )
        _tell(changed, actor, "rollback.cancelled", order.state, change.why)
    return changed


def _locked(run_id: int, order_id: int) -> OrderInfo:
    """The order; the run's row first, as everybody who changes what belongs to a run."""
    runs.lock_run(run_id)
    order = store.lock(run_id, order_id)
    if order is None:
        raise NotFound("no such order in this run", where="order")
    return order


def _check_form(asked: RollbackRequest) -> None:
    if asked.confirm.strip() != str(asked.step):
        raise Refused(
            f'typed "{asked.confirm[:40]}" to confirm step {asked.step}', where="confirm",
            hint=f"type {asked.step}",
        )  # fmt: skip
    if not asked.reason.strip() or len(asked.reason) > MAX_REASON:
        raise Refused(
            "a reason is missing or too long", where="reason",
            hint=f"say why in 1 to {MAX_REASON} characters: it goes into the audit trail",
        )  # fmt: skip
    if not 0 < len(asked.idempotency_key) <= MAX_KEY:
        raise Refused(
            "the idempotency key is missing or too long", where="idempotency_key",
            hint=f"send 1 to {MAX_KEY} characters, a new one for every decision",
        )  # fmt: skip
    if any(not 0 <= first <= last < 2**62 for first, last in asked.skip_ranges):
        raise Refused(
            "a range to skip ends before it begins", where="skip_ranges",
            hint="send [first step, last step]",
        )  # fmt: skip
    if "\x00" in "".join((asked.reason, asked.idempotency_key, *asked.exclude_nodes)):
        raise Refused("a NUL character in a text", hint="send plain text")
    if len(asked.exclude_nodes) > MAX_NODES or len(asked.skip_ranges) > MAX_RANGES:
        raise Refused("too many nodes or ranges", hint=f"at most {MAX_NODES} and {MAX_RANGES}")


def _same_order(earlier: OrderInfo, asked: RollbackRequest) -> OrderInfo:
    if earlier.step != asked.step:
        raise Conflict(
            f"this idempotency key was used for {earlier.label} to step {earlier.step}",
            where="idempotency_key", hint="send a new key for a new decision",
        )  # fmt: skip
    return earlier


def _clear_the_way(run: RunInfo, asked: RollbackRequest) -> None:
    """Supersedes the active order if that was asked for, else says who was first."""
    active = store.active(run.id)
    if active is None:
        return
    if not asked.supersede:
        raise Conflict(
            f"{active.label} to step {active.step} by {active.actor} is {active.state.value}",
            where="order", hint="cancel it, wait for its verdict, or ask to supersede it",
        )  # fmt: skip
    why = f"{asked.actor.name} ordered step {asked.step} instead: {asked.reason}"[:MAX_REASON]
    order = _locked(run.id, active.id)
    change = transition(order.state, Act.SUPERSEDE, actor=asked.actor.name, at_ns=now_ns(), why=why)
    _tell(store.save_state(order, change), asked.actor, "rollback.superseded", order.state, why)


def _new_order(asked: RollbackRequest, choice: Choice) -> NewOrder:
    incident = choice.incident
    return NewOrder(
        idempotency_key=asked.idempotency_key,
        incident_id=incident.id if incident else None,
        kind=choice.fault.kind,
        onset_step=incident.onset_step if incident else None,
        from_attempt=choice.newest.number,
        attempt=choice.checkpoint.attempt,
        step=choice.checkpoint.step,
        path=choice.checkpoint.path,
        inventory_digest=choice.checkpoint.digest,
        exclude_nodes=asked.exclude_nodes,
        skip_ranges=asked.skip_ranges,
        forced=not choice.eligible,
        reason=asked.reason.strip(),
        actor=asked.actor.name[:200],
        requested_at_ns=now_ns(),
    )


def _after_request(run: RunInfo, order: OrderInfo, actor: Actor) -> None:
    if order.incident_id is not None:
        text = f"{order.label} to step {order.step} ordered: {order.reason}"
        line = incidents.EventInfo(
            order.requested_at_ns, f"order:{order.id}:requested", text, order.actor
        )
        incident_services.note(run.id, order.incident_id, line)
    _tell(order, actor, "rollback.requested", None, order.reason)


def _tell(order: OrderInfo, actor: Actor, action: str, before: OrderState | None, why: str) -> None:
    """The audit row, the order file and open pages, after any change a caller made."""
    audit(
        actor,
        action,
        f"order {order.id}",
        run_id=order.run_id,
        before={"state": before.value} if before else {},
        after={"state": order.state.value, "step": order.step, "forced": order.forced},
        reason=why,
    )
    files.sync_on_commit(order.run_id)
    enqueue(Job.ROLLBACKS_LAUNCH)
    key = runs.run_by_id(order.run_id).key
    what = ["incidents", "orders"]
    transaction.on_commit(lambda: live.publish(key, step=None, what=what), robust=True)
