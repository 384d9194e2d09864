"""What people say about metric names, and the analysis that follows from it."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.records import Actor
from apps.ingest import store
from apps.metrics import naming
from apps.metrics.domain.naming import Naming


def rename(project: str, asked: Naming, actor: Actor, now_ns: int) -> list[tuple[int, int]]:
    """Stores it (see `naming.save`); the (run, attempt) whose analysis is due now."""
    with transaction.atomic():
        again = naming.save(project, asked, actor, now_ns)
        for run_id, attempt in again:
            store.mark_written(run_id, [attempt])
    return again
