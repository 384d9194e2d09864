"""Checkpoints compared with their metadata, outside of any request."""

from __future__ import annotations

from celery import shared_task

from apps.checkpoints import services
from apps.core.queue import Job


@shared_task(name=Job.CHECKPOINTS_VERIFY.value)
def verify(run_id: int, attempt: int, step: int) -> None:
    """Raises the level of one checkpoint, or says what is wrong with it."""
    services.verify(run_id, attempt, step)


@shared_task(name=Job.CHECKPOINTS_RECHECK.value)
def recheck() -> int:
    """Check the checkpoints whose own message was lost; how many there were."""
    return services.verify_unchecked()
