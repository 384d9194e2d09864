"""What the flight recorder dumps of an attempt say."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from apps.api import shapes
from apps.api.auth import needs
from apps.api.errors import Missing
from apps.api.lookup import Attempt, run_of
from apps.incidents import store as incidents
from apps.logs import flight
from apps.runs import store as runs

router = Router(auth=needs("read"))


class FlightVerdictOut(Schema):
    ranks: list[int]
    together: list[list[int]]
    waiting: int
    dumps: int
    absent: list[int]
    skipped: int
    confidence: float
    summary: str
    evidence: list[shapes.EvidenceOut]


class FlightOut(Schema):
    run: str
    attempt: int
    verdict: FlightVerdictOut | None
    waits: bool
    confidence_word: str
    agrees: bool | None


@router.get(
    "/runs/{key}/flight-recorder",
    response=FlightOut,
    summary="Which ranks the others wait for, from flight recorder dumps",
    description="`verdict.ranks` stopped first; empty: not derivable, `summary` says why. "
    "`together`: sets that wait for each other. `waits`: dumps came that are not judged yet. "
    "`agrees`: whether the log verdict names one of them, null if either names nobody.",
)
def get_flight(request: HttpRequest, key: str, attempt: Attempt | None = None) -> dict[str, Any]:
    run = run_of(key)
    found = runs.attempt(run.id, attempt)
    number = found.number if found is not None else 0
    said = flight.answer(run.id, number, incidents.failed_rank(run.id, number))
    if said is None:
        raise Missing(
            "no flight recorder dump of this attempt",
            where="attempt",
            hint="POST one to the same address",
        )
    return {"run": run.key, "attempt": number, **asdict(said)}
