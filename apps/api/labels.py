"""How the labels of shippers are read in a project, and what they sent lately."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema

from apps.api.auth import caller, needs
from apps.api.names import named_project
from apps.core.clock import now_ns
from apps.ingest import labelling, labels_store
from apps.ingest.label_rules import OwnRule

router = Router(auth=needs("read"))


class LabelRule(Schema):
    """label: its name as shippers write it. pattern: its whole value, with holes."""

    label: str
    pattern: str


class LabelRulesOut(Schema):
    project: str
    version: int
    changed_at_ns: int
    changed_by: str
    rules: list[LabelRule]


class LabelRulesIn(Schema):
    """Replaces all rules. version: the one that was read (0: nothing yet); 409 when it is no longer
    the newest."""

    version: int
    rules: list[LabelRule] = Field(default_factory=list)


class LabelsPreviewIn(Schema):
    rules: list[LabelRule] = Field(default_factory=list)


class LabelsRead(Schema):
    """Labels as they came, newest first. was: the run their lines went to, "" if they were refused.
    told: what the rules make of them. unknown: nobody understands them. odd: cannot be read."""

    labels: dict[str, str]
    was: str
    door: str
    token: str
    seen_at_ns: int
    told: dict[str, str | int]
    unknown: list[str]
    odd: list[str]


class Refused(Schema):
    token: str
    door: str
    reason: str
    lines: int
    last_at_ns: int


def _shape(project: str) -> dict[str, Any]:
    said = labels_store.rules_of(project)
    return {
        "project": project,
        "version": said.version,
        "changed_at_ns": said.changed_at_ns,
        "changed_by": said.changed_by,
        "rules": [{"label": rule.label, "pattern": rule.pattern} for rule in said.rules],
    }


def _asked(rules: list[LabelRule]) -> list[OwnRule]:
    return [OwnRule(rule.label, rule.pattern) for rule in rules]


@router.get(
    "/projects/{path:project}/label-rules",
    response=LabelRulesOut,
    summary="How a project's own labels are read",
    description='The rules come before the built-in conventions. The project "-" is the pushes '
    "that name no project.",
)
def get_label_rules(request: HttpRequest, project: str) -> dict[str, Any]:
    return _shape(named_project(project))


@router.put(
    "/projects/{path:project}/label-rules",
    response=LabelRulesOut,
    auth=needs("operate"),
    summary="Say how a project's own labels are read",
)
def put_label_rules(request: HttpRequest, project: str, payload: LabelRulesIn) -> dict[str, Any]:
    named = named_project(project)
    labelling.save(named, _asked(payload.rules), payload.version, caller(request), now_ns())
    return _shape(named)


@router.post(
    "/projects/{path:project}/label-rules/preview",
    response=list[LabelsRead],
    summary="What rules would make of the labels that came lately; nothing is changed",
)
def preview_label_rules(
    request: HttpRequest, project: str, payload: LabelsPreviewIn
) -> list[dict[str, Any]]:
    return [
        {
            "labels": one.seen.labels,
            "was": one.seen.run,
            "door": one.seen.door,
            "token": one.seen.token,
            "seen_at_ns": one.seen.seen_at_ns,
            "told": one.fields,
            "unknown": sorted(set(one.rest) - set(one.odd)),
            "odd": list(one.odd),
        }
        for one in labelling.preview(named_project(project), _asked(payload.rules))
    ]


@router.get(
    "/ingest/refused",
    response=list[Refused],
    summary="Lines that the doors of shippers refused, by token and reason",
)
def get_refused(request: HttpRequest) -> list[Any]:
    return list(labels_store.refusals())
