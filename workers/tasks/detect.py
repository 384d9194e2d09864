"""Analysis that a writer left undone."""

from __future__ import annotations

from celery import shared_task

from apps.core.clock import now_ns
from apps.core.queue import Job
from apps.ingest.analyse import bring_all_up_to_date, due
from apps.ingest.pace import Pace
from apps.ingest.wandb.endings import end_silent

BUDGET_S = 8.0
"""Less than the time to the next call, so that calls do not pile up."""
_pace = Pace()


@shared_task(name=Job.DETECT_CATCH_UP.value)
def catch_up() -> int:
    """Analyse attempts that are behind or asked to be looked at again; how many it were.

    Before that, end those whose last W&B writers have fallen silent.
    """
    end_silent(now_ns())
    return bring_all_up_to_date(due(now_ns()), _pace, BUDGET_S)
