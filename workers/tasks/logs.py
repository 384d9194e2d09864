"""Keeping the log store small."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.core.clock import now_ns
from apps.core.queue import Job
from apps.incidents import blaming
from apps.incidents import store as incidents
from apps.ingest import faultclasses
from apps.ingest import store as ingest
from apps.logs import flight, keeping, patterns, retention

MERGE_S = 8.0
EXPIRE_S = 15.0
DUMPS_S = 10.0
RECLASS_S = 8.0
"""Less than the time to the next call, so that mails get their turn."""


@shared_task(name=Job.LOGS_MERGE.value)
def merge() -> int:
    """Merge small log chunks for some seconds; how many were merged."""
    return keeping.merge_due(MERGE_S).chunks


@shared_task(name=Job.LOGS_DUMPS.value)
def dumps() -> int:
    """Judge flight recorder dumps that came, for some seconds; how many attempts."""
    judged = flight.judge_due(DUMPS_S)
    for run_id, attempt in judged:
        blaming.judged(run_id, attempt, now_ns())
    return len(judged)


@shared_task(name=Job.LOGS_RECLASS.value)
def reclass() -> int:
    """Give stored lines the newest fault classes, for some seconds; attempts that are through."""
    return faultclasses.reclass(RECLASS_S)


@shared_task(name=Job.LOGS_SWEEP.value)
def sweep() -> int:
    """Delete objects of the log bucket that nothing refers to; how many."""
    swept = keeping.sweep_bucket(timezone.now())
    return swept.dropped + swept.orphans


@shared_task(name=Job.LOGS_EXPIRE.value)
def expire() -> int:
    """Delete lines beyond what their project keeps, for some seconds; how many lines."""
    gone = retention.expire(incidents.attempts_waiting(), now_ns(), EXPIRE_S)
    for run_id, lines in gone.items():
        ingest.count(run_id, {"expired_log_lines": lines})
    return gone.total()


@shared_task(name=Job.LOGS_MEASURE.value)
def measure() -> int:
    """Measure the log store; how many percent of its budget it takes."""
    return keeping.measure_disk(now_ns()).percent


@shared_task(name=Job.LOGS_LEARN.value)
def learn() -> int:
    """Take over what attempts that ended well say as ordinary; of how many attempts."""
    return patterns.learn_ordinary(now_ns())
