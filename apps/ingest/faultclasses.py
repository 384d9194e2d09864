"""Fault classes of a project, and the analysis that follows from a change."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.records import Actor
from apps.ingest import store
from apps.logs import faultclasses
from apps.logs.domain.triage.ownclasses import OwnClasses


def change(
    project: str, asked: OwnClasses, *, actor: Actor, reason: str, now_ns: int
) -> list[tuple[int, int]]:
    """Stores them (see `faultclasses.save`); the (run, attempt) whose analysis is due now."""
    with transaction.atomic():
        again = faultclasses.save(project, asked, actor=actor, reason=reason, now_ns=now_ns)
        for run_id, attempt in again:
            store.mark_written(run_id, [attempt])
    return again
