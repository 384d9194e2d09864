"""Stopping a run from afar."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Body, Router, Schema

from apps.api import shapes
from apps.api.auth import caller, needs
from apps.api.lookup import run_of
from apps.runs import stop_store, stops
from apps.runs.stop_store import StopInfo

router = Router(auth=needs("read"))


def _shape(stop: StopInfo) -> dict[str, Any]:
    return {**asdict(stop), "state": stop.state.value, "active": stop.active}


@router.get("/runs/{key}/stops", response=shapes.StopList, summary="Stop requests, oldest first")
def list_stops(request: HttpRequest, key: str) -> dict[str, Any]:
    return {"items": [_shape(stop) for stop in stop_store.stops(run_of(key).id)]}


class StopIn(Schema):
    """confirm: the run key again, as a person typed it. reason: goes into the audit trail.
    idempotency_key: a new one for every decision; the same key, the same request."""

    confirm: str
    reason: str
    idempotency_key: str


@router.post(
    "/runs/{key}/stop",
    response=shapes.StopOut,
    auth=needs("operate"),
    summary="Stop the newest attempt of a run",
    description="Its wandb client interrupts the training process when it next posts. 422 for a "
    "wrong confirmation or where no wandb process listens, 409 when the attempt has ended or was "
    "asked already.",
)
def stop_run(request: HttpRequest, key: str, payload: StopIn) -> dict[str, Any]:
    asked = stops.StopAsked(
        run_key=key,
        confirm=payload.confirm,
        reason=payload.reason,
        idempotency_key=payload.idempotency_key,
        actor=caller(request),
    )
    return _shape(stops.request(asked))


class CancelIn(Schema):
    """reason: goes into the audit trail."""

    reason: str = ""


@router.post(
    "/runs/{key}/stops/{number}/cancel",
    response=shapes.StopOut,
    auth=needs("operate"),
    summary="Take a stop request back that nobody was told of",
)
def cancel_stop(
    request: HttpRequest,
    key: str,
    number: int,
    payload: Body[CancelIn] = CancelIn(),  # noqa: B008 - an empty body is fine
) -> dict[str, Any]:
    return _shape(stops.cancel(run_of(key).id, number, caller(request), payload.reason))
