"""What people say about wanted changes of a run, and the analysis that follows from it."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.records import Actor
from apps.ingest import store
from apps.metrics import planned
from apps.metrics.domain.planned import PlannedChange
from apps.metrics.store import PlannedInfo


def plan_change(run_id: int, asked: PlannedChange, actor: Actor, now_ns: int) -> PlannedInfo:
    """Stores it (see `planned.add`); the attempts that it concerns are analysed again."""
    with transaction.atomic():
        info, again = planned.add(run_id, asked, actor, now_ns)
        store.mark_written(run_id, again)
    return info


def take_back(run_id: int, number: int, actor: Actor, now_ns: int) -> PlannedInfo:
    """Takes it back (see `planned.remove`); the attempts that it concerns are analysed again."""
    with transaction.atomic():
        info, again = planned.remove(run_id, number, actor, now_ns)
        store.mark_written(run_id, again)
    return info
