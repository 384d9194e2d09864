"""Order files that agree with the orders."""

from __future__ import annotations

from celery import shared_task

from apps.core.queue import Job
from apps.rollbacks import files


@shared_task(name=Job.ROLLBACKS_SYNC.value)
def sync() -> int:
    """Bring every order file up to date; how many were wrong."""
    return files.sync_all()
