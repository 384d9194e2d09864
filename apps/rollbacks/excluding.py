"""Hosts that an order leaves out: they are cordoned, until the order is taken back."""

from __future__ import annotations

from apps.accounts.records import SYSTEM, Actor
from apps.nodes import services as hosts
from apps.nodes import store as nodes
from apps.nodes.domain.standing import Act, Deed
from apps.rollbacks import store
from apps.rollbacks.domain.state import OrderState
from apps.rollbacks.records import OrderInfo

_TAKEN_BACK = frozenset({OrderState.CANCELLED, OrderState.SUPERSEDED})


def follow(order: OrderInfo, actor: Actor) -> None:
    """Lets the hosts follow a change of the order, in its transaction.

    Cordoned once launchers may see it; as before when it is cancelled or superseded, unless a
    launcher has taken them out of service for everybody, or a person has said something since.
    """
    if not order.exclude_nodes:
        return
    if order.state is OrderState.REQUESTED:
        _do(Act.CORDON, order, actor, f"{order.label} leaves it out: {order.reason}")
    elif order.state in _TAKEN_BACK:
        _do(Act.RELEASE, order, actor, f"{order.label} is {order.state.value}")


def taken_out(run_id: int, order_id: int, words: str, now_ns: int) -> None:
    """A launcher has drained or cordoned the hosts of an order. words: what it did."""
    order = store.get(run_id, order_id)
    if order is None or not order.exclude_nodes:
        return
    why = f"{order.label}: {words}"
    nodes.ensure(order.exclude_nodes)
    deed = Deed(Act.CORDON, now_ns, SYSTEM.name, why, cause=f"drain:{order.id}")
    hosts.act(order.exclude_nodes, deed)


def _do(act: Act, order: OrderInfo, actor: Actor, why: str) -> None:
    nodes.ensure(order.exclude_nodes)
    deed = Deed(act, order.changed_at_ns, actor.name, why, cause=f"order:{order.id}")
    hosts.act(order.exclude_nodes, deed, actor=actor)
