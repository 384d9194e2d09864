"""Looking at storage. These run in a worker of their own: a mount may hang."""

from __future__ import annotations

from celery import shared_task

from apps.checkpoints import scanning
from apps.core.queue import Job


@shared_task(name=Job.CHECKPOINTS_SCAN_DUE.value)
def scan_due() -> int:
    """Send every root that is due to the storage worker; how many."""
    return scanning.scan_due()


# Taken off the queue at once: a look that dies is found due again, and no second one may run.
@shared_task(name=Job.CHECKPOINTS_SCAN.value, acks_late=False)
def scan(root_id: int) -> None:
    """Look at one root."""
    scanning.scan(root_id)
