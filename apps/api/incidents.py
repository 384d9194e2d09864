"""Incidents: what happened, who is suspected, where to go back to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from ninja import Body, Router, Schema

from apps.alerts import services as alerts
from apps.api import shapes
from apps.api.auth import caller, needs
from apps.api.lookup import capped, incident_of, run_of
from apps.core import live
from apps.core.clock import now_ns
from apps.incidents import services, store
from apps.incidents.domain.card import plain_card
from apps.incidents.domain.incident import IncidentChange, IncidentInfo, Resolution
from apps.rollbacks import cards
from apps.rollbacks import services as rollbacks
from apps.runs import store as runs

router = Router(auth=needs("read"))


def _shape(incident: IncidentInfo, key: str) -> dict[str, Any]:
    """The incident with suspects and candidates, best first."""
    candidates = rollbacks.candidates(incident.run_id, incident)
    return {
        **asdict(incident),
        "run": key,
        "severity": incident.severity.value,
        "state": incident.state.value,
        "candidates": [asdict(candidate) for candidate in candidates],
    }


def _key(incident: IncidentInfo) -> str:
    return runs.run_by_id(incident.run_id).key


@router.get("/incidents", response=shapes.IncidentPage, summary="Incidents, newest first")
def list_incidents(
    request: HttpRequest,
    run: str | None = None,
    state: str | None = None,
    limit: int = 50,
    before: int | None = None,
) -> dict[str, Any]:
    limit = capped(limit)
    info = run_of(run) if run is not None else None
    query = store.IncidentQuery(
        run_id=info.id if info else None, state=state, limit=limit, before=before
    )
    found = store.list_incidents(query)
    keys = runs.keys({incident.run_id for incident in found})
    return {
        "items": [_shape(incident, keys[incident.run_id]) for incident in found],
        "next": found[-1].id if len(found) == limit else None,
    }


@router.get("/incidents/{id}", response=shapes.IncidentOut, summary="One incident")
def get_incident(request: HttpRequest, id: int) -> dict[str, Any]:
    incident = incident_of(id)
    movers = store.movers(incident.run_id, incident.id)
    card = cards.card(incident)
    beside = {
        "movers": asdict(movers) if movers else None,
        "card": plain_card(card) if card else None,
    }
    return _shape(incident, _key(incident)) | beside


@router.get(
    "/incidents/{id}/candidates",
    response=shapes.CandidateList,
    summary="Checkpoints to go back to, best first",
)
def get_candidates(request: HttpRequest, id: int) -> dict[str, Any]:
    incident = incident_of(id)
    return {"items": [asdict(c) for c in rollbacks.candidates(incident.run_id, incident)]}


class ChangeIn(Schema):
    """reason: what you are going to do about it, or why it is over."""

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


def _change(id: int, act: Callable[[IncidentInfo, int], list[IncidentChange]]) -> dict[str, Any]:
    incident = incident_of(id)
    key, moment = _key(incident), now_ns()
    with transaction.atomic():
        alerts.plan(act(incident, moment), moment)
    live.publish(key, step=None, what=["incidents"])
    return _shape(incident_of(id), key)
