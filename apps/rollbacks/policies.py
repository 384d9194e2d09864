"""What a project asks of a rollback: the margin, and whether a second person has to agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.core.errors import AppError, Conflict
from apps.rollbacks import policy_store
from apps.rollbacks.domain.margin import MarginPolicy
from apps.rollbacks.domain.ranking import RankingPolicy
from apps.rollbacks.records import RollbackPolicy

MAX_MARGIN_STEPS = 10_000_000
MAX_REASON = 2_000


@dataclass(frozen=True, slots=True)
class Asked:
    """Other rules for a project. margin_steps: None for the rule. version: that was looked at."""

    margin_steps: int | None
    second_approver: bool
    version: int


def of_project(project: str) -> RollbackPolicy:
    """The rules of a project; the defaults if nobody has changed them."""
    return policy_store.of_project(project)


def of_run(run_id: int) -> RollbackPolicy:
    """The rules of the run's project. One statement."""
    return policy_store.of_run(run_id)


def ranking_policy(run_id: int) -> RankingPolicy:
    """The rules by which the checkpoints of a run are ranked."""
    return RankingPolicy(MarginPolicy(fixed_steps=of_run(run_id).margin_steps))


def save(project: str, asked: Asked, *, actor: Actor, reason: str, now_ns: int) -> RollbackPolicy:
    """Stores other rules for a project. Audited. They count for orders given from now on.

    Needs the scope admin. AppError for a margin out of its range or a reason that is too long,
    Conflict if somebody else changed the rules meanwhile.
    """
    require(actor, "admin")
    if asked.margin_steps is not None and not 0 <= asked.margin_steps <= MAX_MARGIN_STEPS:
        raise AppError(
            f"a margin of {asked.margin_steps} steps", where="margin_steps",
            hint=f"0 to {MAX_MARGIN_STEPS}, or nothing for the rule",
        )  # fmt: skip
    if len(reason) > MAX_REASON:
        raise AppError("the reason is too long", where="reason", hint=f"at most {MAX_REASON}")
    with transaction.atomic():
        before = policy_store.of_project(project)
        after = RollbackPolicy(
            asked.margin_steps, asked.second_approver, asked.version + 1, now_ns, actor.name[:200]
        )
        if asked.version != before.version or not policy_store.save(project, after):
            who = policy_store.of_project(project).changed_by or "somebody"
            raise Conflict(
                f"{who} changed these rules meanwhile", where="version",
                hint="look at them again, then repeat your change",
            )  # fmt: skip
        audit(
            actor, "rollback.policy_changed", f"project {project or '-'}",
            before=_told(before), after=_told(after), reason=reason,
        )  # fmt: skip
    return after


def _told(policy: RollbackPolicy) -> dict[str, Any]:
    return {"margin_steps": policy.margin_steps, "second_approver": policy.second_approver}
