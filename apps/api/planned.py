"""Wanted changes of a run, said by people or by their launch scripts."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from apps.api.auth import caller, needs
from apps.api.lookup import run_of
from apps.core.clock import now_ns
from apps.ingest import planning
from apps.metrics import store as metrics
from apps.metrics.domain.planned import PlannedChange
from apps.metrics.store import PlannedInfo

router = Router(auth=needs("read"))


class PlannedOut(Schema):
    number: int
    kind: str
    from_step: int
    to_step: int | None
    text: str
    by: str
    at_ns: int


class PlannedList(Schema):
    items: list[PlannedOut]


class PlannedIn(Schema):
    """kind: batch_size, sequence_length, data, curriculum, learning_rate, warm_up, restart, other.
    to_step: the last step that the change explains; leave it out if it lasts: what begins within
    its first 200 steps is then explained."""

    kind: str
    from_step: int
    to_step: int | None = None
    text: str = ""


def _shape(info: PlannedInfo) -> dict[str, Any]:
    change = info.change
    return {
        "number": info.number,
        "kind": change.kind,
        "from_step": change.from_step,
        "to_step": change.to_step,
        "text": change.text,
        "by": info.said_by,
        "at_ns": info.said_at_ns,
    }


@router.get("/runs/{key}/planned", response=PlannedList, summary="Planned changes, by step")
def list_planned(request: HttpRequest, key: str) -> dict[str, Any]:
    return {"items": [_shape(info) for info in metrics.planned(run_of(key).id)]}


@router.post(
    "/runs/{key}/planned",
    response=PlannedOut,
    auth=needs("operate"),
    summary="Say that a change of the training is wanted",
    description="What begins inside it is recorded as information and pages nobody; findings that "
    "are open already are judged again. Say it before the step comes, from a launch script for "
    "example. The same change again is the one that is there.",
)
def add_planned(request: HttpRequest, key: str, payload: PlannedIn) -> dict[str, Any]:
    asked = PlannedChange(payload.kind, payload.from_step, payload.to_step, payload.text, "person")
    return _shape(planning.plan_change(run_of(key).id, asked, caller(request), now_ns()))


@router.delete(
    "/runs/{key}/planned/{number}",
    response=PlannedOut,
    auth=needs("operate"),
    summary="Take a planned change back",
    description="What it explained is judged again as if nobody had said it. Twice is once.",
)
def remove_planned(request: HttpRequest, key: str, number: int) -> dict[str, Any]:
    return _shape(planning.take_back(run_of(key).id, number, caller(request), now_ns()))
