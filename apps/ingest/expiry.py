"""Dropping what is kept for some days only."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction

from apps.ingest.store import count


def drop_expired(
    forget: Callable[[datetime], dict[int, int]], now: datetime, *, days: int, counter: str
) -> int:
    """Drops what is older than `days`, a few at a time; how many it was. 0 days: nothing ever is.

    forget: drops some of what is from before a time: run id -> how many. Each run counts its own.
    """
    total = 0
    while days:
        with transaction.atomic():
            dropped = forget(now - timedelta(days=days))
            for run_id, times in dropped.items():
                count(run_id, {counter: times})
        if not dropped:
            break
        total += sum(dropped.values())
    return total
