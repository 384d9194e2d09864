"""By which thresholds the losses of a project are judged."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.core.errors import Conflict
from apps.metrics import store
from apps.metrics.domain.spike_policy import SpikePolicy
from apps.metrics.domain.thresholds import checked, policy_with
from apps.metrics.naming import note_again
from apps.metrics.store import MovedThresholds
from apps.runs import store as runs


def policy_of(run_id: int) -> SpikePolicy:
    """The thresholds that count for a run: the defaults, and what its project has moved."""
    return versioned_policy(run_id)[0]


def versioned_policy(run_id: int) -> tuple[SpikePolicy, int]:
    """The same with its version, which a detector keeps beside its state. One statement."""
    moved = store.thresholds_of_run(run_id)
    return policy_with(moved.values), moved.version


def save(
    project: str, asked: MovedThresholds, *, actor: Actor, reason: str, now_ns: int
) -> list[tuple[int, int]]:
    """Stores other thresholds for a project; (run, attempt) to analyse again. Audited.

    Needs the scope admin. asked.version: the one that was looked at; Conflict if it is no longer
    the newest, AppError for a value out of its range. Attempts that were heard of within the hour
    are judged again over their last `LOOK_BACK_STEPS` steps: their detectors start anew, seeded
    from stored points, and take back what does not hold by the new thresholds.
    """
    require(actor, "admin")
    values = checked(asked.values)
    with transaction.atomic():
        live = runs.live_runs(project)
        runs.lock_runs(live)
        before = store.thresholds_of(project)
        after = MovedThresholds(values, before.version + 1, now_ns, actor.name)
        if before.version != asked.version:
            raise _overtaken(before)
        if dict(before.values) == values:
            return []
        if not store.save_thresholds(project, after):
            raise _overtaken(store.thresholds_of(project))
        audit(
            actor,
            "thresholds.changed",
            f"project {project or '-'}",
            before=_told(before),
            after=_told(after),
            reason=reason,
        )
        return note_again(live)


def _overtaken(newest: MovedThresholds) -> Conflict:
    return Conflict(
        f"{newest.changed_by or 'somebody'} changed these thresholds meanwhile",
        hint="look at them again, then repeat your change",
    )


def _told(moved: MovedThresholds) -> dict[str, Any]:
    return dict(moved.values)
