"""Opening, trying again and ending the hand-over of an order; every act of a person is audited."""

from __future__ import annotations

import orjson
from django.db import transaction

from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import audit, require
from apps.core import live, sealing
from apps.core.clock import now_ns
from apps.core.errors import AppError, Conflict, NotFound
from apps.core.queue import Job, enqueue
from apps.rollbacks import resume
from apps.rollbacks import store as orders
from apps.rollbacks.domain import handover as domain
from apps.rollbacks.domain.handover import Effect, Errand, HandoverState
from apps.rollbacks.domain.state import OrderState
from apps.rollbacks.launchers import bindings_store, kinds, store
from apps.rollbacks.launchers.bindings_store import BindingInfo
from apps.rollbacks.launchers.http import Access
from apps.rollbacks.launchers.protocol import Launcher, Made, Note
from apps.rollbacks.launchers.store import HandoverInfo
from apps.rollbacks.records import OrderInfo
from apps.runs import store as runs
from apps.runs.records import RunInfo

UNWRITTEN = "rb-<number>"
"""In the words of a dry run, where an order has no number yet."""
_PURPOSE = b"lastgood: secrets of launchers"


def open_due(now: int) -> int:
    """Opens a hand-over for each order that waits for a launcher which follows by itself."""
    opened = 0
    for run_id, order_id in store.without_handover():
        binding = binding_of(runs.run_by_id(run_id))
        if binding is not None and binding.automatic:
            opened += _try_open(run_id, order_id, binding, now)
    return opened


def _try_open(run_id: int, order_id: int, binding: BindingInfo, now: int) -> bool:
    """As `_open`; what is wrong with the binding is written into the order's history, once."""
    try:
        return _open(run_id, order_id, binding, SYSTEM, now)
    except AppError as error:
        with transaction.atomic():
            runs.lock_run(run_id)
            if order := orders.lock(run_id, order_id):
                why = f"cannot be handed over: {error}"
                orders.note(order, at_ns=now, actor="lastgood", why=why)
        return False


def hand_over(run_id: int, order_id: int, actor: Actor) -> None:
    """A person lets Lastgood start the run. Needs the scope operate.

    NotFound without a launcher or order, Conflict if the order is not waiting or was handed over.
    """
    require(actor, "operate")
    binding = binding_of(runs.run_by_id(run_id))
    if binding is None:
        raise NotFound("this run has no launcher", hint="an administrator sets one up")
    with transaction.atomic():
        if not _open(run_id, order_id, binding, actor, now_ns()):
            raise Conflict("the order is not waiting for a launcher", where="order")
        what = f"order {order_id}"
        audit(actor, "handover.begun", what, run_id=run_id, after={"kind": binding.kind.value})


def again(run_id: int, order_id: int, actor: Actor, *, nothing_happened: bool = False) -> None:
    """A person lets a failed hand-over go on where it stopped. Needs the scope operate.

    nothing_happened: the person has looked, and the step of which nobody knew has not happened.
    Conflict if it has neither failed nor is unsure.
    """
    require(actor, "operate")
    with transaction.atomic():
        runs.lock_run(run_id)
        found = store.get(run_id, order_id)
        if found is None:
            raise NotFound("this order was not handed over", where="order")
        if found.state is HandoverState.UNSURE and not nothing_happened:
            raise Conflict(found.text, hint="look, then say that it has not happened")
        if not store.reopen(run_id, order_id, now_ns()):
            raise Conflict(f"the hand-over is {found.state.value}", where="order")
        if nothing_happened:
            store.forget_begun(run_id, order_id)
        said = {"nothing_happened": nothing_happened}
        audit(actor, "handover.again", f"order {order_id}", run_id=run_id, after=said)
        enqueue(Job.ROLLBACKS_LAUNCH)


def end(handover: HandoverInfo, state: HandoverState, text: str, launch: str) -> None:
    """Ends a hand-over, with a line in the history of its order; open pages hear of it."""
    now = now_ns()
    with transaction.atomic():
        store.end(handover.run_id, handover.order_id, state, now, text, launch)
        order = orders.lock(handover.run_id, handover.order_id)
        if order is not None and (words := _words(handover, state, text, launch)):
            orders.note(order, at_ns=now, actor="lastgood", why=words)
        key = runs.run_by_id(handover.run_id).key
        transaction.on_commit(lambda: live.publish(key, step=None, what=["orders"]), robust=True)


def check_free(run_id: int, order_id: int) -> None:
    """Conflict while a hand-over is at work: what it does could not be taken back any more."""
    found = store.get(run_id, order_id)
    if found is None or found.state is not HandoverState.WORKING:
        return
    begun = any(
        step.state is not domain.StepState.PLANNED for step in store.steps(run_id, order_id)
    )
    if begun or found.claimed_until_ns > now_ns():
        raise Conflict(
            f"the hand-over to {kinds.WORDS[found.kind]} is at work", where="order",
            hint="wait until it is done or has failed",
        )  # fmt: skip


def try_effects(run: RunInfo, order: OrderInfo) -> tuple[tuple[Effect, ...], str]:
    """What the launcher of a run would do for an order, and why it cannot, "" if it can. Nothing
    without a launcher. Asks nobody."""
    binding = binding_of(run)
    if binding is None:
        return (), ""
    try:
        return _made(binding, _unheard).plan(_errand(run, order)), ""
    except AppError as error:
        return (), str(error)


def binding_of(run: RunInfo) -> BindingInfo | None:
    """Who starts a run; None if nobody does, or the binding is switched off."""
    found = bindings_store.of_run(run.key, run.project)
    return found if found is not None and found.enabled else None


def launcher(handover: HandoverInfo, note: Note) -> Launcher:
    """As it was configured when the hand-over began, with the access of now. AppError if the
    binding has gone."""
    binding = bindings_store.by_id(handover.binding_id)
    if binding is None:
        raise AppError("the launcher was removed", hint="start the run by hand")
    return kinds.made(handover.kind, handover.config, unsealed(binding.sealed), note)


def errand(run_id: int, order_id: int) -> Errand:
    """What the launcher has to know. NotFound without such an order."""
    order = orders.get(run_id, order_id)
    if order is None:
        raise NotFound("no such order in this run", where="order")
    return _errand(runs.run_by_id(run_id), order)


def sealed(access: Access) -> str:
    """What opens the other side, as text for the database."""
    values = {"url": access.url, "token": access.token, "ca": access.ca}
    return sealing.seal(orjson.dumps(values), _PURPOSE)


def unsealed(text: str) -> Access:
    """The access again; `sealing.Unreadable` if SECRET_KEY has changed since."""
    if not text:
        return Access()
    what, hint = "the token of this launcher", "enter its address and token again"
    return Access(**orjson.loads(sealing.unseal(text, _PURPOSE, what=what, hint=hint)))


def _open(run_id: int, order_id: int, binding: BindingInfo, actor: Actor, now: int) -> bool:
    with transaction.atomic():
        runs.lock_run(run_id)
        order = orders.lock(run_id, order_id)
        if order is None or order.state is not OrderState.REQUESTED or order.launch:
            return False
        new = HandoverInfo(
            run_id=run_id,
            order_id=order_id,
            binding_id=binding.id,
            kind=binding.kind,
            config=binding.config,
            actor=actor.name,
            began_at_ns=now,
            state=HandoverState.WORKING,
            changed_at_ns=now,
            claimed_until_ns=0,
            text="",
            launch="",
        )
        planned = _made(binding, _unheard).plan(_errand(runs.run_by_id(run_id), order))
        if not store.add(new, planned):
            return False
        why = f"handed over to {kinds.WORDS[binding.kind]}"
        orders.note(order, at_ns=now, actor=actor.name, why=why)
        enqueue(Job.ROLLBACKS_LAUNCH)
    return True


def _made(binding: BindingInfo, note: Note) -> Launcher:
    return kinds.made(binding.kind, binding.config, unsealed(binding.sealed), note)


def _errand(run: RunInfo, order: OrderInfo) -> Errand:
    payload = resume.ordered(order).document["payload"]
    return Errand(
        run=run.key,
        label=order.label,
        mark=domain.mark(run.key, order.id, order.requested_at_ns) if order.id else UNWRITTEN,
        step=order.step,
        env=payload["env"],
        exclude_nodes=order.exclude_nodes,
        reason=order.reason,
    )


def _words(handover: HandoverInfo, state: HandoverState, text: str, launch: str) -> str:
    name = kinds.WORDS[handover.kind]
    if state is HandoverState.DONE:
        return f"{name} starts {launch}" if launch else text
    became = {HandoverState.FAILED: "has failed", HandoverState.STOPPED: "was stopped"}
    return f"the hand-over to {name} {became.get(state, 'needs a person')}: {text}"


def _unheard(made: Made) -> None:
    """For launchers that are asked for a plan only, which makes no call."""
