"""Order files that agree with the orders, orders on their way to launchers, goodput."""

from __future__ import annotations

from celery import shared_task

from apps.core.clock import now_ns
from apps.core.queue import Job
from apps.rollbacks import files, goodputs, telling
from apps.rollbacks.launchers import engine


@shared_task(name=Job.ROLLBACKS_SYNC.value)
def sync() -> int:
    """Bring every order file up to date; how many were wrong."""
    return files.sync_all()


@shared_task(name=Job.ROLLBACKS_LAUNCH.value)
def launch() -> int:
    """Hand orders over to their launchers; how many were worked on."""
    return engine.run_due()


@shared_task(name=Job.ROLLBACKS_TELL.value)
def tell() -> int:
    """Tell the webhook what became of orders; how many requests were made."""
    return telling.tell_due()


@shared_task(name=Job.ROLLBACKS_GOODPUT.value)
def goodput() -> int:
    """Compute the goodput that the list of runs shows; of how many runs."""
    return goodputs.refresh(now_ns())
