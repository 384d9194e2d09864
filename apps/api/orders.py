"""Rollback orders: give one, follow one, ask where to start."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema

from apps.api import shapes
from apps.api.auth import caller, needs
from apps.api.errors import Missing
from apps.api.lookup import run_of
from apps.rollbacks import services, store, trying
from apps.rollbacks.records import OrderInfo, ResumePoint, RollbackRequest

router = Router(auth=needs("read"))
MAX_WAIT_S = 25.0
LOOK_EVERY_S = 0.5
_slots = threading.BoundedSemaphore(2)
"""Long polls a process holds at once: each costs one of its threads, and pages need them too
(apps/core/bodies.py). More of them are answered at once."""


def _shape(order: OrderInfo) -> dict[str, Any]:
    lines = store.events(order.run_id, order.id)
    return {
        **asdict(order),
        "state": order.state.value,
        "active": order.active,
        "history": [asdict(line) for line in lines],
    }


@router.get("/runs/{key}/orders", response=shapes.OrderList, summary="Orders, oldest first")
def list_orders(request: HttpRequest, key: str) -> dict[str, Any]:
    return {"items": [_shape(order) for order in store.orders(run_of(key).id)]}


@router.get("/runs/{key}/orders/{order}", response=shapes.OrderOut, summary="One order")
def get_order(request: HttpRequest, key: str, order: int) -> dict[str, Any]:
    found = store.get(run_of(key).id, order)
    if found is None:
        raise Missing("no such order in this run", where="order")
    return _shape(found)


class RollbackIn(Schema):
    """What to order.

    step: of the checkpoint. confirm: the step number again, as a person typed it. reason: goes into
    the audit trail. idempotency_key: a new one for every decision; the same key, the same order. A
    dry run needs none of the three.
    attempt: whose checkpoint, when several attempts saved this step. incident: default the newest
    open page. force: take a checkpoint that is no eligible candidate. supersede: replace the active
    order. exclude_nodes: hosts the next start must not use. skip_ranges: [first, last] steps whose
    data to skip.
    """

    step: int
    confirm: str | int = ""
    reason: str = ""
    idempotency_key: str = ""
    attempt: int | None = None
    incident: int | None = None
    force: bool = False
    supersede: bool = False
    exclude_nodes: tuple[str, ...] = ()
    skip_ranges: tuple[tuple[int, int], ...] = ()


class EffectOut(Schema):
    """One thing that would happen. what: a word for programs; text: a sentence for people."""

    what: str
    text: str


class SeenOut(Schema):
    """The look at the checkpoint. sight: whole, damaged, missing, or unknown if nobody looked."""

    sight: str
    words: str


class DryRunOut(Schema):
    """What an order would do. refused: why it would not be given, "" if it would. payload: what
    launchers would get."""

    dry_run: bool
    refused: str
    hint: str
    second_approver: bool
    seen: SeenOut
    effects: list[EffectOut]
    payload: dict[str, Any]


@router.post(
    "/runs/{key}/rollback",
    response=shapes.OrderOut | DryRunOut,
    auth=needs("operate"),
    summary="Order a rollback, or list what it would do",
    description="422 for a wrong confirmation or a checkpoint that is not safe, 409 when another "
    "order is active. The same idempotency key gives the same order. With `dry_run=true` nothing "
    "is ordered: every effect is listed, and why the order would be refused. Where the project "
    "asks for a second person the order is `proposed` until one approves it.",
)
def order_rollback(
    request: HttpRequest, key: str, payload: RollbackIn, dry_run: bool = False
) -> dict[str, Any]:
    asked = RollbackRequest(
        run_key=key,
        step=payload.step,
        attempt=payload.attempt,
        confirm=str(payload.confirm),
        reason=payload.reason,
        idempotency_key=payload.idempotency_key,
        actor=caller(request),
        incident_id=payload.incident,
        force=payload.force,
        supersede=payload.supersede,
        exclude_nodes=payload.exclude_nodes,
        skip_ranges=payload.skip_ranges,
    )
    if dry_run:
        return {"dry_run": True, **asdict(trying.dry_run(asked))}
    return _shape(services.request(asked))


class ApproveIn(Schema):
    """confirm: the step number, as a person typed it."""

    confirm: str | int


@router.post(
    "/runs/{key}/rollback/{order}/approve",
    response=shapes.OrderOut,
    auth=needs("operate"),
    summary="A second person agrees to a proposed order",
    description="Only by a logged-in person, and not by who proposed it.",
)
def approve(request: HttpRequest, key: str, order: int, payload: ApproveIn) -> dict[str, Any]:
    found = services.approve(run_of(key).id, order, caller(request), str(payload.confirm))
    return _shape(found)


class AcknowledgeIn(Schema):
    """launch: stable name of the start that follows the order."""

    launch: str


@router.post(
    "/runs/{key}/rollback/{order}/acknowledge",
    response=shapes.OrderOut,
    auth=needs("ingest", "operate"),
    summary="A launcher takes an order on",
)
def acknowledge(
    request: HttpRequest, key: str, order: int, payload: AcknowledgeIn
) -> dict[str, Any]:
    return _shape(services.acknowledge(run_of(key).id, order, payload.launch, caller(request)))


class CancelIn(Schema):
    """reason: goes into the audit trail."""

    reason: str


@router.post(
    "/runs/{key}/rollback/{order}/cancel",
    response=shapes.OrderOut,
    auth=needs("operate"),
    summary="Take an order back that nobody has followed yet",
)
def cancel(request: HttpRequest, key: str, order: int, payload: CancelIn) -> dict[str, Any]:
    return _shape(services.cancel(run_of(key).id, order, caller(request), payload.reason))


@router.get(
    "/runs/{key}/resume-point",
    response=shapes.ResumePointOut,
    summary="Where a launcher starts: the signed order, or the newest good checkpoint",
    description="Send the last ETag as If-None-Match: 304 when nothing changed. With `wait=25` the "
    "answer comes as soon as it changes, at the latest after so many seconds (at most 25). "
    "A few such questions are held at a time; more are answered at once with Retry-After.",
)
def get_resume_point(request: HttpRequest, key: str, wait: float = 0.0) -> HttpResponse:
    run_id = run_of(key).id
    known = request.headers.get("If-None-Match", "")
    point = services.resume_point(run_id)
    retry = {}
    if known and point.etag in known and wait > 0:
        if _slots.acquire(blocking=False):
            try:
                point = _changed(run_id, known, min(wait, MAX_WAIT_S)) or point
            finally:
                _slots.release()
        else:
            retry = {"Retry-After": "5"}
    headers = {"ETag": point.etag, "Cache-Control": "no-cache", **retry}
    if known and point.etag in known:
        return HttpResponse(status=304, headers=headers)
    return HttpResponse(point.body, content_type="application/json", headers=headers)


def _changed(run_id: int, known: str, wait_s: float) -> ResumePoint | None:
    """The new resume point as soon as it differs; None if the time ran out."""
    end = time.monotonic() + wait_s
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(LOOK_EVERY_S, left))
        point = services.resume_point(run_id)
        if point.etag not in known:
            return point
    return None
