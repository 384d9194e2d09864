"""Which change of an incident may happen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from apps.core.errors import AppError
from apps.incidents.domain.incident import IncidentState, Resolution


class Act(StrEnum):
    """What is done to an incident."""

    ACKNOWLEDGE = "acknowledge"
    RESOLVE = "resolve"
    REOPEN = "reopen"


@dataclass(frozen=True, slots=True)
class Standing:
    """The part of an incident that decides what may follow."""

    state: IncidentState
    resolution: str = ""


_NEXT = {
    (IncidentState.OPEN, Act.ACKNOWLEDGE): IncidentState.ACKNOWLEDGED,
    (IncidentState.OPEN, Act.RESOLVE): IncidentState.RESOLVED,
    (IncidentState.ACKNOWLEDGED, Act.RESOLVE): IncidentState.RESOLVED,
    (IncidentState.RESOLVED, Act.REOPEN): IncidentState.OPEN,
}

_DONE = {
    Act.ACKNOWLEDGE: IncidentState.ACKNOWLEDGED,
    Act.RESOLVE: IncidentState.RESOLVED,
    Act.REOPEN: IncidentState.OPEN,
}


def transition(
    now: Standing, act: Act, resolution: Resolution = Resolution.NONE
) -> Standing | None:
    """The standing after `act`, or None if it is already so (a repeated click, a replay).

    Only an incident that closed by itself is reopened: what a person or a verified rollback
    ended stays ended. Raises AppError for a change that is not allowed, and ValueError for a
    resolution without a reason.
    """
    if act is Act.RESOLVE and resolution is Resolution.NONE:
        raise ValueError("a resolution needs a reason; pass a Resolution other than NONE")
    if now.state is _DONE[act]:
        return None
    state = _NEXT.get((now.state, act))
    if state is None:
        raise AppError(
            f"a {now.state} incident cannot be changed by {act}",
            hint="reload the page: somebody else was first",
            where="incident",
        )
    if act is Act.REOPEN and now.resolution != Resolution.CLOSED:
        raise AppError(
            f'an incident resolved as "{now.resolution}" is not reopened',
            hint="a new episode opens a new incident",
            where="incident",
        )
    return Standing(state, resolution if act is Act.RESOLVE else Resolution.NONE)
