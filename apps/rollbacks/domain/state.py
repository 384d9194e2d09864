"""The life of a rollback order: which act may follow which state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from apps.core.errors import AppError


class OrderState(StrEnum):
    """Where an order stands. Stored: never rename a value."""

    PROPOSED = "proposed"
    REQUESTED = "requested"
    ACKNOWLEDGED = "acknowledged"
    RESUMED = "resumed"
    RECOVERED = "recovered"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"


class Act(StrEnum):
    """What happens to an order."""

    APPROVE = "approve"
    ACKNOWLEDGE = "acknowledge"
    RESUME = "resume"
    RECOVER = "recover"
    FAIL = "fail"
    SUPERSEDE = "supersede"
    CANCEL = "cancel"


ACTIVE = frozenset(
    (OrderState.PROPOSED, OrderState.REQUESTED, OrderState.ACKNOWLEDGED, OrderState.RESUMED)
)
WAITING = frozenset((OrderState.REQUESTED, OrderState.ACKNOWLEDGED))
"""A launcher still has to obey an order in one of these."""

_NEXT = {
    (OrderState.PROPOSED, Act.APPROVE): OrderState.REQUESTED,
    (OrderState.PROPOSED, Act.CANCEL): OrderState.CANCELLED,
    (OrderState.REQUESTED, Act.ACKNOWLEDGE): OrderState.ACKNOWLEDGED,
    (OrderState.REQUESTED, Act.RESUME): OrderState.RESUMED,
    (OrderState.REQUESTED, Act.CANCEL): OrderState.CANCELLED,
    (OrderState.ACKNOWLEDGED, Act.RESUME): OrderState.RESUMED,
    (OrderState.ACKNOWLEDGED, Act.CANCEL): OrderState.CANCELLED,
    (OrderState.RESUMED, Act.RECOVER): OrderState.RECOVERED,
    **{(state, Act.FAIL): OrderState.FAILED for state in ACTIVE},
    **{(state, Act.SUPERSEDE): OrderState.SUPERSEDED for state in ACTIVE},
}


class IllegalTransition(AppError):
    """The order is in a state that does not allow the act."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One change of an order's state: what, who, when, why."""

    before: OrderState
    after: OrderState
    act: Act
    actor: str
    at_ns: int
    why: str


def transition(state: OrderState, act: Act, *, actor: str, at_ns: int, why: str) -> Transition:
    """The change that `act` makes. Raises IllegalTransition if it may not happen now.

    A final state (recovered, failed, superseded, cancelled) never changes again.
    """
    after = _NEXT.get((state, act))
    if after is None:
        allowed = sorted(a.value for (s, a) in _NEXT if s is state)
        hint = f"possible now: {', '.join(allowed)}" if allowed else "request a new order"
        raise IllegalTransition(
            f"an order that is {state.value} cannot be changed by {act.value}",
            hint=hint,
            where="order",
        )
    return Transition(state, after, act, actor, at_ns, why)
