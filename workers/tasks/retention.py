"""What is dropped when it is old."""

from __future__ import annotations

import logging

from celery import shared_task
from django.utils import timezone

from apps.accounts import services as accounts
from apps.core.queue import Job
from apps.ingest import services as ingest
from apps.ingest.wandb import uploads

log = logging.getLogger(__name__)


@shared_task(name=Job.RETENTION_EXPIRE.value)
def expire() -> dict[str, int]:
    """Drop expired sessions, login links, quarantined bodies and uploads; how many of each."""
    now = timezone.now()
    dropped = {
        **accounts.drop_expired(now),
        "quarantined bodies": ingest.drop_old_quarantine(now),
        "uploads": uploads.drop_old(now),
    }
    log.info("retention.expired", extra=dict(dropped))
    return dropped
