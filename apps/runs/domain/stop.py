"""The life of a stop request: which act may follow which state. Plain values."""

from __future__ import annotations

from enum import StrEnum

from apps.core.errors import AppError


class StopState(StrEnum):
    """Where a stop request stands. Stored: never rename a value.

    delivered: the process was told. stopped: its attempt has ended after that. overtaken: the
    attempt had ended before anybody was told.
    """

    REQUESTED = "requested"
    DELIVERED = "delivered"
    STOPPED = "stopped"
    OVERTAKEN = "overtaken"
    CANCELLED = "cancelled"


class Act(StrEnum):
    """What happens to a stop request."""

    DELIVER = "deliver"
    END = "end"
    CANCEL = "cancel"


ACTIVE = frozenset((StopState.REQUESTED, StopState.DELIVERED))
_NEXT = {
    (StopState.REQUESTED, Act.DELIVER): StopState.DELIVERED,
    (StopState.REQUESTED, Act.END): StopState.OVERTAKEN,
    (StopState.REQUESTED, Act.CANCEL): StopState.CANCELLED,
    (StopState.DELIVERED, Act.END): StopState.STOPPED,
}


def transition(state: StopState, act: Act) -> StopState | None:
    """The state after `act`; None if nothing changes, because it is told, over or taken back.

    AppError for taking back what was delivered: the process may be ending already.
    """
    after = _NEXT.get((state, act))
    if after is None and act is Act.CANCEL and state is not StopState.CANCELLED:
        raise AppError(
            f"a stop request that is {state.value} cannot be taken back",
            hint="the process has been told, or has ended",
            where="stop",
        )
    return after
