"""Moved thresholds of a project, and the analysis that follows from it."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.records import Actor
from apps.ingest import store
from apps.metrics import policies
from apps.metrics.store import MovedThresholds


def move(
    project: str, asked: MovedThresholds, *, actor: Actor, reason: str, now_ns: int
) -> list[tuple[int, int]]:
    """Stores them (see `policies.save`); the (run, attempt) whose analysis is due now."""
    with transaction.atomic():
        again = policies.save(project, asked, actor=actor, reason=reason, now_ns=now_ns)
        for run_id, attempt in again:
            store.mark_written(run_id, [attempt])
    return again
