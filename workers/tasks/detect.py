"""Analysis that a writer left undone."""

from __future__ import annotations

from celery import shared_task

from apps.core import live
from apps.core.clock import now_ns
from apps.core.queue import Job
from apps.ingest.analyse import analyse, due


@shared_task(name=Job.DETECT_CATCH_UP.value)
def catch_up() -> int:
    """Analyse every attempt that is behind or asked to be looked at again; how many there were."""
    behind = due(now_ns())
    for run_id, run_key, attempt in behind:
        outcome = analyse(run_id, attempt, now_ns())
        live.publish(run_key, step=outcome.step, what=outcome.what)
    return len(behind)
