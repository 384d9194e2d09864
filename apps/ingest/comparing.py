"""Which runs a run is compared with, and the analysis that follows from it."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.records import Actor
from apps.ingest import store
from apps.metrics import siblings
from apps.metrics.store import SiblingSet


def compare_with(run_id: int, asked: SiblingSet, actor: Actor, *, reason: str, now_ns: int) -> None:
    """Stores it (see `siblings.choose`); the newest attempt is judged by it."""
    with transaction.atomic():
        again = siblings.choose(run_id, asked, actor, reason=reason, now_ns=now_ns)
        if again is not None:
            store.mark_written(run_id, [again])
