"""The patterns of a project for numbers that ranks log."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema

from apps.api.auth import caller, needs
from apps.api.names import named_project
from apps.core.clock import now_ns
from apps.ingest import signalling
from apps.metrics import store as metrics
from apps.metrics.domain.signal_patterns import SignalRules

router = Router(auth=needs("read"))


class SignalRulesOut(Schema):
    """compared: series -> how it is compared across ranks."""

    project: str
    version: int
    changed_at_ns: int
    changed_by: str
    patterns: list[str]
    compared: dict[str, str]


class SignalRulesIn(Schema):
    """Replaces all patterns. version: the one that was read (0: nothing yet); 409 when it is no
    longer the newest."""

    version: int
    patterns: list[str] = Field(default_factory=list)


class SignalsPreviewIn(Schema):
    patterns: list[str] = Field(default_factory=list)


class SignalsRead(Schema):
    """A recent line of a rank, and what the patterns read in it. step: null if nothing says one."""

    run: str
    rank: int
    text: str
    step: int | None
    values: dict[str, float | None]


def _shape(project: str) -> dict[str, Any]:
    said = metrics.signal_rules_of(project)
    return {
        "project": project,
        "version": said.version,
        "changed_at_ns": said.changed_at_ns,
        "changed_by": said.changed_by,
        "patterns": list(said.patterns),
        "compared": signalling.compared(said),
    }


@router.get(
    "/projects/{path:project}/rank-signals",
    response=SignalRulesOut,
    summary="Patterns for numbers that the ranks of a project log",
)
def get_rank_signals(request: HttpRequest, project: str) -> dict[str, Any]:
    return _shape(named_project(project))


@router.put(
    "/projects/{path:project}/rank-signals",
    response=SignalRulesOut,
    auth=needs("operate"),
    summary="Say how numbers of ranks are read",
    description="Lines that come from now on are read by them, within 15 s in every process.",
)
def put_rank_signals(request: HttpRequest, project: str, payload: SignalRulesIn) -> dict[str, Any]:
    named = named_project(project)
    asked = SignalRules(tuple(payload.patterns), payload.version)
    signalling.save(named, asked, caller(request), now_ns())
    return _shape(named)


@router.post(
    "/projects/{path:project}/rank-signals/preview",
    response=list[SignalsRead],
    summary="What patterns would read in the last lines of ranks; nothing is changed",
)
def preview_rank_signals(
    request: HttpRequest, project: str, payload: SignalsPreviewIn
) -> list[signalling.Tried]:
    return signalling.preview(named_project(project), payload.patterns)
