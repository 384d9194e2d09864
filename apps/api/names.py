"""What the people of a project say about its metric names."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema

from apps.api import shapes
from apps.api.auth import caller, needs
from apps.core.clock import now_ns
from apps.ingest.names import rename
from apps.metrics import naming
from apps.metrics import store as metrics
from apps.metrics.domain.layer_rules import Rule
from apps.metrics.domain.naming import Naming
from apps.runs import store as runs

router = Router(auth=needs("read"))
NO_PROJECT = "-"
"""Stands in addresses for the runs that name no project."""


def named_project(project: str) -> str:
    """The project of an address."""
    return "" if project == NO_PROJECT else project


def _shape(project: str) -> dict[str, Any]:
    said = metrics.naming_of(project)
    newest = runs.newest_runs(project, 1)
    counts = naming.roles_of(newest[0].id).every() if newest else {}
    return {
        "project": project,
        "version": said.version,
        "changed_at_ns": said.changed_at_ns,
        "changed_by": said.changed_by,
        "roles": dict(said.roles),
        "rules": [{"pattern": r.pattern, "statistic": r.statistic} for r in said.rules],
        "run": newest[0].key if newest else None,
        "counts_now": counts,
    }


@router.get(
    "/projects/{path:project}/names",
    response=shapes.NamesOut,
    summary="What is said about the metric names of a project",
    description="`roles` and `rules` are what people said; `counts_now` is which series has each "
    'role in the newest run, guesses included. The project "-" is the runs without one.',
)
def get_names(request: HttpRequest, project: str) -> dict[str, Any]:
    return _shape(named_project(project))


class NamesIn(Schema):
    """Replaces everything that was said. version: the one that was read (0: nothing yet); 409 when
    it is no longer the newest. roles: role -> series, null: there is none; what is left out is
    guessed. rules: read in this order before the built-in ones."""

    version: int
    roles: dict[str, str | None] = Field(default_factory=dict)
    rules: list[shapes.RuleShape] = Field(default_factory=list)


@router.put(
    "/projects/{path:project}/names",
    response=shapes.NamesOut,
    auth=needs("operate"),
    summary="Say which series is what, and how layers are named",
)
def put_names(request: HttpRequest, project: str, payload: NamesIn) -> dict[str, Any]:
    rules = tuple(Rule(rule.pattern, rule.statistic) for rule in payload.rules)
    asked = Naming(payload.roles, rules, payload.version)
    rename(named_project(project), asked, caller(request), now_ns())
    return _shape(named_project(project))
