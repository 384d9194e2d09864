"""Rollbacks: candidates, the order, its acknowledgement, the resume point."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import audit, require, require_any
from apps.checkpoints.looking import Seen
from apps.core import live
from apps.core.clock import now_ns
from apps.core.errors import Conflict, NotFound, Refused
from apps.core.queue import Job, enqueue
from apps.core.records import Candidate
from apps.incidents import services as incident_services
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.rollbacks import asking, choosing, excluding, files, policies, store
from apps.rollbacks.asking import MAX_REASON
from apps.rollbacks.choosing import Choice
from apps.rollbacks.domain.ranking import Ranking
from apps.rollbacks.domain.state import Act, OrderState, transition
from apps.rollbacks.launchers import handing
from apps.rollbacks.records import OrderInfo, RollbackRequest
from apps.rollbacks.resume import resume_point
from apps.rollbacks.watching import mark_mitigated, watch
from apps.runs import store as runs
from apps.runs.records import RunInfo

__all__ = [
    "acknowledge",
    "approve",
    "cancel",
    "candidates",
    "ranking",
    "request",
    "resume_point",
    "watch",
]


def candidates(run_id: int, incident: IncidentInfo) -> list[Candidate]:
    """Checkpoints to roll back to for an incident, best first; none at or after the onset.

    About 22 statements, and up to 15 more for a run with restarts and rare saves, however many
    checkpoints, ranks and keys. Reads the newest 1,000 checkpoints and up to 9,000 steps of the
    loss, at most 21,000 where saves are rare: 25 ms of CPU with 8 checkpoints, 115 ms with 1,000
    of 513 files each.
    """
    return list(ranking(run_id, incident).candidates)


def ranking(run_id: int, incident: IncidentInfo) -> Ranking:
    """The candidates, and beside them the checkpoints that are none, with the reason."""
    return choosing.ranking(run_id, incident)


def request(asked: RollbackRequest) -> OrderInfo:
    """Orders a rollback, or proposes it where the project asks for a second person; the same
    idempotency key again gives the same order. Its storage is looked at once more, which takes up
    to looking.WAIT_S seconds: not to be called inside a transaction.

    Raises Forbidden without the scope operate, Refused for a wrong confirmation, a missing reason,
    an incomplete checkpoint, or one that is no eligible candidate (unless forced), NotFound for an
    unknown run or checkpoint, Conflict if another order is active or the key was used otherwise.
    """
    require(asked.actor, "operate")
    asking.check_form(asked)
    run = runs.get_run(asked.run_key)
    if run is None:
        raise NotFound("no such run", where="run", hint="GET /api/v1/runs lists the runs")
    if earlier := store.with_key(run.id, asked.idempotency_key):
        return _same_order(earlier, asked)
    choosing.verify(run.id, asked.step)
    seen = _looked(run, asked)
    with transaction.atomic():
        runs.lock_run(run.id)
        if earlier := store.with_key(run.id, asked.idempotency_key):
            return _same_order(earlier, asked)
        choice = _checked(run, asked, seen)
        _clear_the_way(run, asked)
        rules = policies.of_run(run.id)
        order = store.add(run.id, asking.new_order(asked, choice, rules))
        _note_look(order, seen)
        _after_request(run, order, asked.actor)
    return order


def _looked(run: RunInfo, asked: RollbackRequest) -> Seen:
    """What the storage shows of the checkpoint now. Before the transaction: it takes seconds."""
    choice = choosing.choose(run, asked)
    choosing.check(choice, force=asked.force)
    return choosing.look(run.id, choice)


def _checked(run: RunInfo, asked: RollbackRequest, seen: Seen) -> Choice:
    """The checkpoint as it is known after the look. Raises Refused if it is not fit."""
    choice = choosing.choose(run, asked)
    choosing.check(choice, force=asked.force)
    choosing.check_seen(choice, seen, force=asked.force)
    return choice


def _note_look(order: OrderInfo, seen: Seen) -> None:
    """What the storage showed, in the order's history; nothing where there is no storage root."""
    if seen.asked:
        store.note(order, at_ns=now_ns(), actor=SYSTEM.name, why=seen.words)


def approve(run_id: int, order_id: int, actor: Actor, confirm: str) -> OrderInfo:
    """A second person agrees to a proposed order, and launchers see it from then on.

    The checkpoint is looked at again. Needs the scope operate. Raises Refused for a wrong
    confirmation, for who proposed it, for a program, and for a checkpoint that is no longer fit;
    NotFound, and IllegalTransition for an order that is not proposed.
    """
    require(actor, "operate")
    order = store.get(run_id, order_id)
    if order is None:
        raise NotFound("no such order in this run", where="order")
    _check_approver(order, actor, confirm)
    run = runs.run_by_id(run_id)
    asked = asking.again(run.key, order, actor)
    seen = _looked(run, asked) if order.proposed else None
    with transaction.atomic():
        order = _locked(run_id, order_id)
        why = f"approved by {actor.name}"
        change = transition(order.state, Act.APPROVE, actor=actor.name, at_ns=now_ns(), why=why)
        if seen is not None:
            _checked(run, asked, seen)
            _note_look(order, seen)
        changed = store.save_state(order, change, {"approver": actor.name[:200]})
        _tell(changed, actor, "rollback.approved", order.state, why)
    return changed


def _check_approver(order: OrderInfo, actor: Actor, confirm: str) -> None:
    """Four eyes: a person, and another one than who proposed it."""
    if actor.kind != "user":
        raise Refused(
            "an approval comes from a person", where="actor", hint="log in and approve on the page"
        )
    if actor.name == order.actor:
        raise Refused(
            f"{order.label} was proposed by you", where="actor",
            hint="another person with the scope operate has to agree",
        )  # fmt: skip
    if confirm.replace(",", "").strip() != str(order.step):
        raise asking.not_confirmed(confirm, order.step)


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
            order.state,
            Act.CANCEL,
            actor=actor.name,
            at_ns=now_ns(),
            why=reason[:MAX_REASON],
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


def _same_order(earlier: OrderInfo, asked: RollbackRequest) -> OrderInfo:
    if earlier.step != asked.step:
        raise Conflict(
            f"this idempotency key was used for {earlier.label} to step {earlier.step}",
            where="idempotency_key", hint="send a new key for a new decision",
        )  # fmt: skip
    return earlier


def _clear_the_way(run: RunInfo, asked: RollbackRequest) -> None:
    """Supersedes the active order if that was asked for, else says who was first."""
    active = choosing.check_free(run.id, supersede=asked.supersede)
    if active is None:
        return
    why = f"{asked.actor.name} ordered step {asked.step} instead: {asked.reason}"[
        : asking.MAX_REASON
    ]
    order = _locked(run.id, active.id)
    change = transition(order.state, Act.SUPERSEDE, actor=asked.actor.name, at_ns=now_ns(), why=why)
    _tell(store.save_state(order, change), asked.actor, "rollback.superseded", order.state, why)


def _after_request(run: RunInfo, order: OrderInfo, actor: Actor) -> None:
    what = "proposed" if order.proposed else "ordered"
    if order.incident_id is not None:
        text = f"{order.label} to step {order.step} {what}: {order.reason}"
        line = incidents.EventInfo(
            order.requested_at_ns, f"order:{order.id}:requested", text, order.actor
        )
        incident_services.note(run.id, order.incident_id, line)
    action = "rollback.proposed" if order.proposed else "rollback.requested"
    _tell(order, actor, action, None, order.reason)


def _tell(order: OrderInfo, actor: Actor, action: str, before: OrderState | None, why: str) -> None:
    """The audit row, its hosts, the order file and open pages, after any change a caller made."""
    excluding.follow(order, actor)
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
