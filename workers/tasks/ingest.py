"""Keeping the tables of ingest small."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.core.queue import Job
from apps.ingest import services


@shared_task(name=Job.INGEST_FORGET.value)
def forget() -> int:
    """Drop the dedupe keys of batches that nobody sends again; how many there were."""
    return services.forget_batches(timezone.now())
