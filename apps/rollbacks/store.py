"""Every statement against the tables of rollbacks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.conf import settings
from django.db.models import Max

from apps.core.queue import Job, enqueue
from apps.rollbacks import words_store
from apps.rollbacks.domain.order import branch_directory
from apps.rollbacks.domain.state import ACTIVE, OrderState, Transition
from apps.rollbacks.models import Order, OrderEvent
from apps.rollbacks.records import NewOrder, OrderEventInfo, OrderInfo

MAX_LISTED = 500
_ACTIVE = [state.value for state in ACTIVE]


def orders(run_id: int, *, limit: int = MAX_LISTED) -> list[OrderInfo]:
    """The newest orders of a run, oldest first. -- uses the primary key"""
    rows = Order.objects.filter(run_id=run_id).order_by("-id")[: min(limit, MAX_LISTED)]
    return [_info(row) for row in rows][::-1]


def get(run_id: int, order_id: int) -> OrderInfo | None:
    """One order. -- uses the primary key"""
    row = Order.objects.filter(run_id=run_id, id=order_id).first()
    return _info(row) if row else None


def lock(run_id: int, order_id: int) -> OrderInfo | None:
    """One order, locked until the transaction ends. -- uses the primary key"""
    row = Order.objects.select_for_update().filter(run_id=run_id, id=order_id).first()
    return _info(row) if row else None


def active(run_id: int) -> OrderInfo | None:
    """The active order of a run. -- uses one_active_order_a_run"""
    row = Order.objects.filter(run_id=run_id, state__in=_ACTIVE).first()
    return _info(row) if row else None


def active_of(run_ids: Collection[int]) -> dict[int, OrderInfo]:
    """run id -> its active order, of the runs that have one. -- uses one_active_order_a_run"""
    rows = Order.objects.filter(run_id__in=list(run_ids), state__in=_ACTIVE)
    return {row.run_id: _info(row) for row in rows}


def active_runs() -> list[int]:
    """Runs that have an active order, at most MAX_LISTED. -- uses one_active_order_a_run"""
    rows = Order.objects.filter(state__in=_ACTIVE).order_by("run_id")
    return list(rows.values_list("run_id", flat=True)[:MAX_LISTED])


def with_key(run_id: int, idempotency_key: str) -> OrderInfo | None:
    """The order given with this idempotency key. -- uses one_order_an_idempotency_key"""
    row = Order.objects.filter(run_id=run_id, idempotency_key=idempotency_key).first()
    return _info(row) if row else None


def add(run_id: int, new: NewOrder) -> OrderInfo:
    """A new order, requested or proposed, with its first history line."""
    given = {name: getattr(new, name) for name in NewOrder.__dataclass_fields__}
    row = Order(
        run_id=run_id,
        changed_at_ns=new.requested_at_ns,
        branch_dir="",
        **{**given, "state": new.state.value},
    )
    row.save(force_insert=True)
    branch = branch_directory(new.path, name=f"rollback-{row.id}")
    Order.objects.filter(run_id=run_id, id=row.id).update(branch_dir=branch)
    _event(run_id, row.id, _line(new))
    made = get(run_id, row.id)
    assert made is not None  # noqa: S101  written in this transaction
    return made


def _line(new: NewOrder) -> OrderEventInfo:
    act = "propose" if new.state is OrderState.PROPOSED else "request"
    return OrderEventInfo(0, new.requested_at_ns, act, "", new.state.value, new.actor, new.reason)


def save_state(
    order: OrderInfo, change: Transition, fields: Mapping[str, Any] | None = None
) -> OrderInfo:
    """The only place that changes an order: its state, what came with it, one history line.

    fields: launch, approver, resumed_attempt, resumed_step, verdict.
    """
    Order.objects.filter(run_id=order.run_id, id=order.id).update(
        state=change.after.value, changed_at_ns=change.at_ns, **(fields or {})
    )
    line = OrderEventInfo(
        0, change.at_ns, change.act.value, change.before.value, change.after.value,
        change.actor, change.why,
    )  # fmt: skip
    _event(order.run_id, order.id, line)
    changed = get(order.run_id, order.id)
    assert changed is not None  # noqa: S101  written in this transaction
    return changed


def note(order: OrderInfo, *, at_ns: int, actor: str, why: str) -> bool:
    """A history line without a change of state; False if the same words are there already."""
    lines = OrderEvent.objects.filter(run_id=order.run_id, order_id=order.id)
    if lines.filter(act="note", why=why).exists():
        return False
    state = order.state.value
    _event(order.run_id, order.id, OrderEventInfo(0, at_ns, "note", state, state, actor, why))
    return True


def events(run_id: int, order_id: int) -> list[OrderEventInfo]:
    """The history of an order, oldest first. -- uses the primary key"""
    rows = OrderEvent.objects.filter(run_id=run_id, order_id=order_id).order_by("seq")
    return [
        OrderEventInfo(
            seq=row.seq,
            at_ns=row.at_ns,
            act=row.act,
            before=row.before,
            after=row.after,
            actor=row.actor,
            why=row.why,
        )
        for row in rows[:MAX_LISTED]
    ]


def _event(run_id: int, order_id: int, line: OrderEventInfo) -> None:
    # The order's row is locked or new, so no other writer counts at the same time.
    rows = OrderEvent.objects.filter(run_id=run_id, order_id=order_id)
    last = rows.aggregate(last=Max("seq"))["last"]
    seq = 0 if last is None else last + 1
    OrderEvent.objects.create(
        run_id=run_id,
        order_id=order_id,
        seq=seq,
        at_ns=line.at_ns,
        act=line.act,
        before=line.before,
        after=line.after,
        actor=line.actor[:200],
        why=line.why,
    )
    if settings.ORDER_WEBHOOK_URL and line.before != line.after:
        words_store.add(run_id, order_id, seq, line.at_ns)
        enqueue(Job.ROLLBACKS_TELL)


_PLAIN = (
    "id", "run_id", "idempotency_key", "incident_id", "kind", "onset_step", "from_attempt",
    "attempt", "step", "path", "inventory_digest", "branch_dir", "forced", "reason", "actor",
    "requested_at_ns", "changed_at_ns", "launch", "resumed_attempt", "resumed_step", "verdict",
    "approver",
)  # fmt: skip


def _info(row: Order) -> OrderInfo:
    plain: dict[str, Any] = {name: getattr(row, name) for name in _PLAIN}
    return OrderInfo(
        **plain,
        state=OrderState(row.state),
        exclude_nodes=tuple(row.exclude_nodes),
        skip_ranges=tuple((int(a), int(b)) for a, b in row.skip_ranges),
    )
