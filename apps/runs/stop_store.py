"""Statements about stop requests."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Max

from apps.runs.domain.stop import ACTIVE, StopState
from apps.runs.models import Launch, Stop

_ACTIVE = [state.value for state in ACTIVE]


@dataclass(frozen=True, slots=True)
class StopInfo:
    """A request to stop an attempt, and how far it has come; times are our clock's."""

    run_id: int
    number: int
    attempt: int
    state: StopState
    actor: str
    reason: str
    requested_at_ns: int
    delivered_at_ns: int | None
    ended_at_ns: int | None

    @property
    def active(self) -> bool:
        """Whether the attempt has not ended since."""
        return self.state in ACTIVE


@dataclass(frozen=True, slots=True)
class NewStop:
    """A request, ready to be written."""

    attempt: int
    idempotency_key: str
    actor: str
    reason: str
    at_ns: int


def _info(row: Stop | None) -> StopInfo | None:
    if row is None:
        return None
    return StopInfo(
        run_id=row.run_id,
        number=row.number,
        attempt=row.attempt,
        state=StopState(row.state),
        actor=row.actor,
        reason=row.reason,
        requested_at_ns=row.requested_at_ns,
        delivered_at_ns=row.delivered_at_ns,
        ended_at_ns=row.ended_at_ns,
    )


def stops(run_id: int) -> list[StopInfo]:
    """The newest 200 requests of a run, oldest first. -- uses the primary key"""
    rows = Stop.objects.filter(run_id=run_id).order_by("-number")[:200]
    return [info for row in reversed(rows) if (info := _info(row))]


def get(run_id: int, number: int) -> StopInfo | None:
    """One request. -- uses the primary key"""
    return _info(Stop.objects.filter(run_id=run_id, number=number).first())


def by_key(run_id: int, idempotency_key: str) -> StopInfo | None:
    """The request that was made with this key. -- uses one_stop_an_idempotency_key"""
    rows = Stop.objects.filter(run_id=run_id, idempotency_key=idempotency_key)
    return _info(rows.first())


def active(run_id: int) -> list[StopInfo]:
    """The requests that attempts of a run still have to follow. -- uses one_active_stop"""
    rows = Stop.objects.filter(run_id=run_id, state__in=_ACTIVE).order_by("attempt")
    return [info for row in rows[:1_000] if (info := _info(row))]


def add(run_id: int, new: NewStop) -> StopInfo:
    """Writes a request. Hold the run's row."""
    last = Stop.objects.filter(run_id=run_id).aggregate(n=Max("number"))["n"] or 0
    row = Stop.objects.create(
        run_id=run_id,
        number=last + 1,
        attempt=new.attempt,
        idempotency_key=new.idempotency_key,
        actor=new.actor[:200],
        reason=new.reason,
        state=StopState.REQUESTED.value,
        requested_at_ns=new.at_ns,
    )
    info = _info(row)
    assert info is not None  # noqa: S101 - it was written just now
    return info


def save_state(info: StopInfo, state: StopState, at_ns: int) -> bool:
    """The only place that writes the state of a request; False if it has changed meanwhile."""
    fields: dict[str, Any] = {"state": state.value}
    fields["delivered_at_ns" if state is StopState.DELIVERED else "ended_at_ns"] = at_ns
    rows = Stop.objects.filter(run_id=info.run_id, number=info.number, state=info.state.value)
    return bool(rows.update(**fields))


def listens(run_id: int, attempts: Collection[int]) -> bool:
    """Whether a `wandb` process writes one of these attempts: it can be told to stop.

    -- uses one_start_a_slot
    """
    rows = Launch.objects.filter(run_id=run_id, attempt__in=attempts, slot__startswith="wandb")
    return rows.exists()
