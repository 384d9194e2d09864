"""What only a clock can tell."""

from __future__ import annotations

from celery import shared_task

from apps.core.clock import now_ns
from apps.core.queue import Job
from apps.incidents import blaming
from apps.ingest import arrivals, watch


@shared_task(name=Job.RUNS_WATCH.value)
def look() -> int:
    """Look at every run that is watched, and how much of each is written; how many had news."""
    arrivals.take_sample(now_ns())
    return watch.look(now_ns())


@shared_task(name=Job.HOSTS_WEIGH.value)
def weigh() -> int:
    """Look whether events of hosts confirm what incidents say of them; how many did."""
    return blaming.weigh(now_ns())
