"""Where to go back to, and the rules by which that is decided."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from apps.api.auth import caller, needs
from apps.api.lookup import incident_of, run_of
from apps.api.names import named_project
from apps.api.shapes import CandidateOut, EvidenceOut
from apps.core.clock import now_ns
from apps.rollbacks import choosing, policies
from apps.rollbacks.domain.ranking import Ranking

router = Router(auth=needs("read"))


class TermOut(Schema):
    """One thing a candidate was weighed by. silent: why nothing is said, "" if something is."""

    name: str
    said: list[EvidenceOut]
    silent: str


class WeighedOut(CandidateOut):
    terms: list[TermOut]
    lost_tokens: int | None
    restore_s: float | None


class OfferOut(Schema):
    """One of the three to look at first. step, attempt: null where there is none; why: says so."""

    name: str
    why: str
    step: int | None
    attempt: int | None


class ExcludedOut(Schema):
    step: int
    attempt: int
    path: str
    reason: str


class MarginOut(Schema):
    steps: int
    words: str


class CandidateList(Schema):
    """items: eligible ones best first, then the others. excluded: what is no candidate at all."""

    items: list[WeighedOut]
    offers: list[OfferOut]
    excluded: list[ExcludedOut]
    margin: MarginOut


def _shape(found: Ranking) -> dict[str, Any]:
    return {
        "items": [asdict(candidate) for candidate in found.candidates],
        "offers": [asdict(offer) for offer in found.offers],
        "excluded": [asdict(excluded) for excluded in found.excluded],
        "margin": asdict(found.margin),
    }


@router.get(
    "/incidents/{id}/candidates",
    response=CandidateList,
    summary="Checkpoints to go back to for an incident, weighed term by term",
)
def get_candidates(request: HttpRequest, id: int) -> dict[str, Any]:
    incident = incident_of(id)
    return _shape(choosing.ranking(incident.run_id, incident))


@router.get(
    "/runs/{key}/candidates",
    response=CandidateList,
    summary="The same for a run",
    description="For its newest open page, or counted back from the end of the newest attempt.",
)
def get_run_candidates(request: HttpRequest, key: str) -> dict[str, Any]:
    run = run_of(key)
    return _shape(choosing.ranking(run.id, choosing.incident_for(run.id, None)))


class RulesOut(Schema):
    """margin_steps: null for the largest of 100 steps, two windows of the detector and one save
    interval. second_approver: another person has to agree before a launcher sees an order."""

    project: str
    margin_steps: int | None
    second_approver: bool
    version: int
    changed_at_ns: int
    changed_by: str


class RulesIn(Schema):
    """Replaces the rules. version: the one that was read (0: nobody has changed them); 409 when it
    is no longer the newest. reason: goes into the audit trail."""

    version: int
    margin_steps: int | None = None
    second_approver: bool = False
    reason: str = ""


@router.get(
    "/projects/{path:project}/rollback-rules",
    response=RulesOut,
    summary="What a project asks of a rollback",
    description='The project "-" is the runs without one.',
)
def get_rules(request: HttpRequest, project: str) -> dict[str, Any]:
    name = named_project(project)
    return {"project": name, **asdict(policies.of_project(name))}


@router.put(
    "/projects/{path:project}/rollback-rules",
    response=RulesOut,
    auth=needs("admin"),
    summary="Change what a project asks of a rollback",
)
def put_rules(request: HttpRequest, project: str, payload: RulesIn) -> dict[str, Any]:
    name = named_project(project)
    asked = policies.Asked(payload.margin_steps, payload.second_approver, payload.version)
    saved = policies.save(
        name, asked, actor=caller(request), reason=payload.reason, now_ns=now_ns()
    )
    return {"project": name, **asdict(saved)}
