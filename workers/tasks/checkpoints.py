"""Checkpoints compared with their metadata, outside of any request."""

from __future__ import annotations

from celery import shared_task

from apps.checkpoints import services


@shared_task(name="checkpoints.verify")
def verify(run_id: int, attempt: int, step: int) -> None:
    """Raises the level of one checkpoint, or says what is wrong with it."""
    services.verify(run_id, attempt, step)
