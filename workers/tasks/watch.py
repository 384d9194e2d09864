"""What only a clock can tell."""

from __future__ import annotations

from celery import shared_task

from apps.core.clock import now_ns
from apps.core.queue import Job
from apps.ingest import watch


@shared_task(name=Job.RUNS_WATCH.value)
def look() -> int:
    """Look at every run that is watched; how many of them had news."""
    return watch.look(now_ns())
