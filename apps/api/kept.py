"""How long and how much of its logs a project keeps, and what that deletes."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from apps.api.auth import caller, needs
from apps.api.lookup import Attempt, run_of
from apps.core.clock import now_ns
from apps.incidents import store as incidents
from apps.logs import retention
from apps.logs.domain.chunk.retention import KeepRule, plan
from apps.logs.store import expiring
from apps.runs import store as runs

router = Router(auth=needs("read"))
NO_PROJECT = "-"
"""Stands in addresses for the runs that name no project."""


class KeepIn(Schema):
    """days, most_bytes: null = no limit. default: what the settings say counts again.

    changed_at_ns: of the rule that was read (0: nobody said one yet); 409 when it is no longer the
    newest. dry_run: nothing is changed, and the answer tells what this rule would delete now.
    """

    days: int | None = None
    most_bytes: int | None = None
    default: bool = False
    changed_at_ns: int = 0
    reason: str = ""
    dry_run: bool = False


class CutOut(Schema):
    run: str
    attempt: int
    why: str
    size_bytes: int
    lines: int | None = None
    before_ns: int | None = None


class KeepOut(Schema):
    project: str
    days: int | None
    most_bytes: int | None
    changed_by: str
    changed_at_ns: int
    size_bytes: int
    would_delete_bytes: int
    would_delete_lines: int
    would_delete: list[CutOut]
    spared: list[CutOut]
    over_bytes: int


def _shape(project: str, rule: KeepRule | None = None) -> dict[str, Any]:
    now = now_ns()
    logs = retention.project_logs(project, incidents.attempts_waiting(), now, rule)
    found = plan(logs.held, logs.said.rule, now)
    said = retention.rule_of(project)
    keys = runs.keys(found.run_ids)
    return {
        "project": project,
        "days": logs.said.rule.days,
        "most_bytes": logs.said.rule.most_bytes,
        "changed_by": said.changed_by,
        "changed_at_ns": said.changed_at_ns,
        "size_bytes": logs.size_bytes,
        "would_delete_bytes": found.size_bytes,
        "would_delete_lines": found.lines,
        "would_delete": [
            {
                "run": keys[cut.run_id],
                "attempt": cut.attempt,
                "why": cut.why,
                "size_bytes": cut.size_bytes,
                "lines": cut.lines,
                "before_ns": cut.before_ns,
            }
            for cut in found.cuts
        ],
        "spared": [
            {
                "run": keys[one.run_id],
                "attempt": one.attempt,
                "why": one.why,
                "size_bytes": one.size_bytes,
            }
            for one in found.spared
        ],
        "over_bytes": found.over_bytes,
    }


@router.get(
    "/projects/{path:project}/log-retention",
    response=KeepOut,
    summary="What a project keeps of its logs, and what its rule deletes next",
    description='The project "-" is the runs without one. Open incidents, pinned attempts and the '
    "attempt that a run still writes are kept whatever the rule says: `spared`.",
)
def get_rule(request: HttpRequest, project: str) -> dict[str, Any]:
    return _shape("" if project == NO_PROJECT else project)


@router.put(
    "/projects/{path:project}/log-retention",
    response=KeepOut,
    auth=needs("operate"),
    summary="Say what a project keeps of its logs, or try it",
)
def put_rule(request: HttpRequest, project: str, payload: KeepIn) -> dict[str, Any]:
    name = "" if project == NO_PROJECT else project
    rule = KeepRule(payload.days, payload.most_bytes)
    if payload.dry_run:
        retention.check(rule)
        return _shape(name, retention.default_rule() if payload.default else rule)
    retention.set_rule(
        name,
        None if payload.default else rule,
        actor=caller(request),
        seen_ns=payload.changed_at_ns,
        reason=payload.reason,
        now_ns=now_ns(),
    )
    return _shape(name)


class PinIn(Schema):
    """pinned: no rule deletes the lines of this attempt."""

    pinned: bool
    reason: str = ""


class RunKeptOut(Schema):
    """deleted: what retention has deleted, by attempt; before_ns: time of the newest line of it."""

    run: str
    pinned: list[int]
    deleted: list[dict[str, int]]


def _of_run(key: str) -> dict[str, Any]:
    run = run_of(key)
    return {
        "run": run.key,
        "pinned": sorted(attempt for _, attempt in expiring.pins([run.id])),
        "deleted": [
            {
                "attempt": one.attempt,
                "lines": one.lines,
                "size_bytes": one.size_bytes,
                "before_ns": one.before_ns,
                "deleted_at_ns": one.deleted_at_ns,
            }
            for one in expiring.deleted(run.id)
        ],
    }


@router.get(
    "/runs/{key}/log-retention",
    response=RunKeptOut,
    summary="What is pinned of a run's logs, and what retention has deleted",
)
def get_run_kept(request: HttpRequest, key: str) -> dict[str, Any]:
    return _of_run(key)


@router.put(
    "/runs/{key}/attempts/{attempt}/pin",
    response=RunKeptOut,
    auth=needs("operate"),
    summary="Keep the logs of an attempt whatever the rule says",
)
def put_pin(request: HttpRequest, key: str, attempt: Attempt, payload: PinIn) -> dict[str, Any]:
    retention.pin(
        run_of(key),
        attempt,
        pinned=payload.pinned,
        actor=caller(request),
        reason=payload.reason,
        now_ns=now_ns(),
    )
    return _of_run(key)
