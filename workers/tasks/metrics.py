"""Keeping the metric blocks large enough to be read fast."""

from __future__ import annotations

from celery import shared_task

from apps.core.queue import Job
from apps.metrics import glances
from apps.metrics import services as metrics


@shared_task(name=Job.METRICS_COMPACT.value)
def compact() -> int:
    """Merge the small blocks of every run that is due; how many were merged."""
    return metrics.compact_due()


@shared_task(name=Job.METRICS_GLANCE.value)
def glance() -> int:
    """Bring what the list of runs shows up to date; of how many runs."""
    return glances.refresh()
