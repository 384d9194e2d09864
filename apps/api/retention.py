"""Retention of checkpoints: rules, what they keep and why, and deletions that wait."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Field, Router, Schema

from apps.api.auth import caller, needs
from apps.api.lookup import run_of
from apps.checkpoints import deleting, retention
from apps.checkpoints.domain.retention import Decision, Rules
from apps.checkpoints.retention import Outlook
from apps.checkpoints.retention_store import Deletion, SaidRules
from apps.core.clock import now_ns
from apps.core.plain import packed
from apps.rollbacks import keeping
from apps.runs.records import RunInfo

router = Router(auth=needs("read"))
Count = Annotated[int, Field(ge=0, lt=2**53)]
Span = Annotated[float, Field(ge=0, lt=1e12)]
Number = Annotated[int, Field(ge=0, lt=2**63)]


class RulesIn(Schema):
    """What is kept; 0 switches a rule off. dense_s with unit_steps is the exponential one.

    deletes: what no rule keeps is deleted after a day; needs the scope admin. of_project: for all
    runs of the project without their own. changed_at_ns: of the rules that were read (0: nobody
    set any); 409 when they are no longer the newest. dry_run: nothing is changed, and the answer
    tells what these rules would keep now.
    """

    last: Count = 0
    hourly: Count = 0
    daily: Count = 0
    weekly: Count = 0
    monthly: Count = 0
    yearly: Count = 0
    within_s: Span = 0.0
    every_steps: Count = 0
    best: Count = 0
    dense_s: Span = 0.0
    unit_steps: Count = 0
    min_kept: Count = 2
    deletes: bool = False
    of_project: bool = False
    changed_at_ns: Number = 0
    reason: Annotated[str, Field(max_length=2_000)] = ""
    dry_run: bool = False

    def rules(self) -> Rules:
        said = self.dict()
        return Rules(**{name: said[name] for name in packed(Rules())})


class KeepIn(Schema):
    """Why a checkpoint that waits for its deletion stays; it is pinned with these words."""

    reason: Annotated[str, Field(max_length=500)] = ""


class DeletionOut(Schema):
    """state: waiting, deleting, deleted, taken_back, spared or refused. message: why."""

    attempt: int
    step: int
    state: str
    due_ns: int
    changed_at_ns: int
    changed_by: str
    size_bytes: int
    message: str


class DecisionOut(Schema):
    """reasons: why it is kept, or why not."""

    attempt: int
    step: int
    saved_at_ns: int
    size_bytes: int
    keep: bool
    reasons: list[str]
    deletion: DeletionOut | None


class DayOut(Schema):
    """The most that lies on the storage on a day from now on."""

    day: int
    kept_bytes: int
    all_bytes: int


class RetentionOut(Schema):
    """plan: newest checkpoint first. days: today and up to 60 days to come."""

    rules: dict[str, Any]
    deletes: bool
    of_project: bool
    changed_by: str
    changed_at_ns: int
    kept_bytes: int
    freed_bytes: int
    free_bytes: int | None
    plan: list[DecisionOut]
    days: list[DayOut]


def _shape(run: RunInfo, tried: Rules | None = None) -> dict[str, Any]:
    now = now_ns()
    found = retention.outlook(run, keeping.guards(run.id, now), now, tried)
    return {
        "rules": packed(found.rules),
        "deletes": found.said.deletes,
        "of_project": found.said.of_project,
        "changed_by": found.said.changed_by,
        "changed_at_ns": found.said.changed_at_ns,
        "kept_bytes": found.plan.kept_bytes,
        "freed_bytes": found.plan.freed_bytes,
        "free_bytes": found.free_bytes,
        "plan": [_decision(one, found) for one in found.plan.decisions],
        "days": [
            {"day": d.number, "kept_bytes": d.kept_bytes, "all_bytes": d.all_bytes}
            for d in found.days
        ],
    }


def _decision(one: Decision, found: Outlook) -> dict[str, Any]:
    deletion = found.deletions.get(one.held.key)
    return {
        "attempt": one.held.attempt,
        "step": one.held.step,
        "saved_at_ns": one.held.saved_at_ns,
        "size_bytes": one.held.size_bytes,
        "keep": one.keep,
        "reasons": list(one.reasons),
        "deletion": _deletion(deletion) if deletion else None,
    }


def _deletion(one: Deletion) -> dict[str, Any]:
    names = DeletionOut.model_fields
    return {**{name: getattr(one, name) for name in names}, "state": one.state.value}


@router.get("/runs/{key}/retention", response=RetentionOut)
def read(request: HttpRequest, key: str) -> dict[str, Any]:
    """The rules of a run, what they keep and why, and the storage of the next 60 days."""
    return _shape(run_of(key))


@router.put("/runs/{key}/retention", response=RetentionOut, auth=needs("operate"))
def change(request: HttpRequest, key: str, body: RulesIn) -> dict[str, Any]:
    """Sets the rules of a run or its project, or tries them (dry_run)."""
    run, rules = run_of(key), body.rules()
    if body.dry_run:
        retention.check(rules)
        return _shape(run, rules)
    retention.set_rules(
        run,
        SaidRules(rules, body.deletes, body.of_project),
        actor=caller(request),
        seen_ns=body.changed_at_ns,
        reason=body.reason,
        now_ns=now_ns(),
    )
    return _shape(run)


@router.post(
    "/runs/{key}/retention/{attempt}/{step}/keep", response=DeletionOut, auth=needs("operate")
)
def keep(
    request: HttpRequest, key: str, attempt: Number, step: Number, body: KeepIn
) -> dict[str, Any]:
    """Takes back a deletion that waits, and pins the checkpoint."""
    run, actor = run_of(key), caller(request)
    place = (attempt, step)
    return _deletion(
        deleting.take_back(run.id, place, actor=actor, reason=body.reason, now_ns=now_ns())
    )
