"""What programs and people do to an incident, and what was done: acts, notes, history, export."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Body, Router, Schema
from pydantic import Field

from apps.alerts import services as alerts
from apps.api import shapes
from apps.api.auth import caller, needs
from apps.api.incidents import key_of, shape
from apps.api.lookup import incident_of
from apps.core import live
from apps.core.clock import now_ns
from apps.core.errors import Refused
from apps.incidents import services, store
from apps.incidents.domain.incident import (
    UNTIL_RESOLVED,
    IncidentChange,
    IncidentInfo,
    Resolution,
)
from apps.rollbacks import exporting

router = Router(auth=needs("read"))
_SECOND_NS = 1_000_000_000
_MONTH_S = 30 * 86_400

Doing = Callable[[IncidentInfo, int], list[IncidentChange]]


class ChangeIn(Schema):
    """reason: what you are going to do about it, what was done, or why it is over."""

    reason: str = ""


@router.post(
    "/incidents/{id}/acknowledge",
    response=shapes.IncidentOut,
    auth=needs("operate"),
    summary="Take care of an incident: reminders stop",
)
def acknowledge(
    request: HttpRequest,
    id: int,
    payload: Body[ChangeIn] = ChangeIn(),  # noqa: B008 - an empty body is fine
) -> dict[str, Any]:
    who, reason = caller(request), payload.reason
    return _change(id, lambda found, moment: services.acknowledge(
        found.run_id, found.id, actor=who, now_ns=moment, reason=reason
    ))  # fmt: skip


@router.post(
    "/incidents/{id}/mitigate",
    response=shapes.IncidentOut,
    auth=needs("operate"),
    summary="Say that something was done that should help",
    description="Reminders stop; the incident stays until the losses or a person say that it is "
    "over. A launcher that takes a rollback order on mitigates its incident by itself.",
)
def mitigate(
    request: HttpRequest,
    id: int,
    payload: Body[ChangeIn] = ChangeIn(),  # noqa: B008 - an empty body is fine
) -> dict[str, Any]:
    who, reason = caller(request), payload.reason
    return _change(id, lambda found, moment: services.mitigate(
        found.run_id, found.id, actor=who, now_ns=moment, reason=reason
    ))  # fmt: skip


@router.post(
    "/incidents/{id}/resolve",
    response=shapes.IncidentOut,
    auth=needs("operate"),
    summary="Say that an incident is over",
)
def resolve(
    request: HttpRequest,
    id: int,
    payload: Body[ChangeIn] = ChangeIn(),  # noqa: B008 - an empty body is fine
) -> dict[str, Any]:
    who, reason = caller(request), payload.reason
    return _change(id, lambda found, moment: services.resolve(
        found.run_id, found.id, Resolution.MANUAL, moment, actor=who, reason=reason
    ))  # fmt: skip


class SilenceIn(Schema):
    """reason: why nobody should hear of it. seconds: for how long, at most 30 days; or
    until_resolved."""

    reason: str
    seconds: Annotated[int, Field(gt=0, le=_MONTH_S)] | None = None
    until_resolved: bool = False


@router.post(
    "/incidents/{id}/silence",
    response=shapes.IncidentOut,
    auth=needs("operate"),
    summary="No messages for a while, or until it is resolved",
    description="Needs a reason and an end. A later silence replaces the earlier one; a relapse "
    "ends it.",
)
def silence(request: HttpRequest, id: int, payload: SilenceIn) -> dict[str, Any]:
    who = caller(request)
    if payload.until_resolved == (payload.seconds is not None):
        raise Refused(
            "a silence has one end",
            where="seconds",
            hint='send either "seconds" or "until_resolved": true',
        )
    span_ns = (payload.seconds or 0) * _SECOND_NS
    return _change(id, lambda found, moment: services.silence(
        found.run_id, found.id, moment + span_ns if span_ns else UNTIL_RESOLVED,
        actor=who, now_ns=moment, reason=payload.reason,
    ))  # fmt: skip


@router.post(
    "/incidents/{id}/unsilence",
    response=shapes.IncidentOut,
    auth=needs("operate"),
    summary="End the silence of an incident",
)
def unsilence(
    request: HttpRequest,
    id: int,
    payload: Body[ChangeIn] = ChangeIn(),  # noqa: B008 - an empty body is fine
) -> dict[str, Any]:
    who, reason = caller(request), payload.reason
    return _change(id, lambda found, moment: services.unsilence(
        found.run_id, found.id, actor=who, now_ns=moment, reason=reason
    ))  # fmt: skip


class OwnerIn(Schema):
    """owner: a user name, "" for nobody."""

    owner: str
    reason: str = ""


@router.post(
    "/incidents/{id}/assign",
    response=shapes.IncidentOut,
    auth=needs("operate"),
    summary="Say who takes care of an incident",
)
def assign(request: HttpRequest, id: int, payload: OwnerIn) -> dict[str, Any]:
    who = caller(request)
    return _change(id, lambda found, moment: services.assign(
        found.run_id, found.id, payload.owner, actor=who, now_ns=moment, reason=payload.reason
    ))  # fmt: skip


class NoteIn(Schema):
    """text: plain text, shown as it is. idempotency_key: a new one for every note."""

    text: str
    idempotency_key: str


@router.post(
    "/incidents/{id}/notes",
    response=shapes.HistoryOut,
    auth=needs("operate"),
    summary="Write a note, which nobody changes later",
    description="The same idempotency key of the same caller adds nothing.",
)
def write_note(request: HttpRequest, id: int, payload: NoteIn) -> dict[str, Any]:
    who = caller(request)
    _change(id, lambda found, moment: services.remark(
        found.run_id, found.id, payload.text,
        key=payload.idempotency_key, actor=who, now_ns=moment,
    ))  # fmt: skip
    return _history(incident_of(id))


@router.get(
    "/incidents/{id}/history",
    response=shapes.HistoryOut,
    summary="What was found, done and written, oldest first",
)
def get_history(request: HttpRequest, id: int) -> dict[str, Any]:
    return _history(incident_of(id))


@router.get(
    "/incidents/{id}/export.{form}",
    summary="The post-mortem: zip (Markdown with plots, and JSON), md or json",
    openapi_extra={"responses": {200: {"description": "the file"}}},
)
def export(request: HttpRequest, id: int, form: str) -> HttpResponse:
    made = exporting.export(incident_of(id), form, now_ns())
    headers = {"Content-Disposition": f'attachment; filename="{made.name}"'}
    return HttpResponse(made.body, content_type=made.content_type, headers=headers)


def _history(incident: IncidentInfo) -> dict[str, Any]:
    lines = [
        line for line in store.events(incident.run_id, incident.id) if not line.is_note
    ] + store.notes(incident.run_id, incident.id)
    lines.sort(key=lambda line: (line.at_ns, line.key))
    return {
        "items": [
            {"at_ns": line.at_ns, "what": line.what, "text": line.text, "actor": line.actor}
            for line in lines
        ]
    }


def _change(id: int, doing: Doing) -> dict[str, Any]:
    incident = incident_of(id)
    key, moment = key_of(incident), now_ns()
    with transaction.atomic():
        alerts.plan(doing(incident, moment), moment)
    live.publish(key, step=None, what=["incidents"])
    return shape(incident_of(id), key)
