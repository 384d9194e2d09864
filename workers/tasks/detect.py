"""Analysis that a writer left undone."""

from __future__ import annotations

from celery import shared_task

from apps.core.clock import now_ns
from apps.core.queue import Job
from apps.ingest.analyse import bring_up_to_date, due


@shared_task(name=Job.DETECT_CATCH_UP.value)
def catch_up() -> int:
    """Analyse every attempt that is behind or asked to be looked at again; how many there were."""
    behind = due(now_ns())
    for run_id, run_key, attempt in behind:
        bring_up_to_date(run_id, run_key, attempt)
    return len(behind)
