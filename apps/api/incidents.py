"""Incidents: what happened, who is suspected, where to go back to."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from apps.api import shapes
from apps.api.auth import needs
from apps.api.lookup import capped, incident_of, run_of
from apps.incidents import store
from apps.incidents.domain.card import plain_card
from apps.incidents.domain.incident import IncidentInfo
from apps.rollbacks import cards
from apps.rollbacks import services as rollbacks
from apps.runs import store as runs

router = Router(auth=needs("read"))


def shape(incident: IncidentInfo, key: str) -> dict[str, Any]:
    """The incident with suspects and candidates, best first."""
    candidates = rollbacks.candidates(incident.run_id, incident)
    return {
        **asdict(incident),
        "silence": _silence(incident),
        "run": key,
        "severity": incident.severity.value,
        "state": incident.state.value,
        "candidates": [asdict(candidate) for candidate in candidates],
    }


def key_of(incident: IncidentInfo) -> str:
    return runs.run_by_id(incident.run_id).key


def _silence(incident: IncidentInfo) -> dict[str, Any] | None:
    """The silence that was given last, also when its time is over; None if there is none."""
    if incident.silenced_until_ns is None:
        return None
    until_ns = None if incident.silenced_for_good else incident.silenced_until_ns
    return {
        "until_ns": until_ns,
        "until_resolved": incident.silenced_for_good,
        "by": incident.silenced_by,
        "reason": incident.silence_reason,
    }


class AskedIn(Schema):
    """run: a key. state: open, acknowledged, mitigated or resolved; unresolved: not over yet.
    severity: page, warn or info. owner: a user name; unowned: nobody's. q: words of the title or
    the cause, or the number of an incident. before: only ids below it (the `next` of a page)."""

    run: str | None = None
    state: str | None = None
    unresolved: bool = False
    severity: str = ""
    kind: str = ""
    owner: str = ""
    unowned: bool = False
    q: str = Field("", max_length=200)
    limit: int = 50
    before: int | None = None


@router.get("/incidents", response=shapes.IncidentPage, summary="Incidents, newest first")
def list_incidents(request: HttpRequest, asked: Query[AskedIn]) -> dict[str, Any]:
    limit = capped(asked.limit)
    query = store.IncidentQuery(
        run_id=run_of(asked.run).id if asked.run is not None else None,
        state=asked.state,
        unresolved=asked.unresolved,
        severity=asked.severity,
        kind=asked.kind,
        owner=asked.owner,
        unowned=asked.unowned,
        text=asked.q,
        limit=limit,
        before=asked.before,
    )
    found = store.list_incidents(query)
    keys = runs.keys({incident.run_id for incident in found})
    return {
        "items": [shape(incident, keys[incident.run_id]) for incident in found],
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
    return shape(incident, key_of(incident)) | beside
