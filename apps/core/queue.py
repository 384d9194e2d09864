"""The one door to Celery: a job is sent by name, once the surrounding transaction commits."""

from __future__ import annotations

from enum import StrEnum

from celery import current_app
from django.db import transaction


class Job(StrEnum):
    """Every job that may be enqueued; tests compare it with the registered tasks."""

    ACCOUNTS_SEAL = "accounts.seal"
    ALERTS_DIGEST = "alerts.digest"
    ALERTS_SEND = "alerts.send"
    CHECKPOINTS_EXPIRE = "checkpoints.expire"
    CHECKPOINTS_HASH = "checkpoints.hash"
    CHECKPOINTS_HASH_DUE = "checkpoints.hash_due"
    CHECKPOINTS_LOOK = "checkpoints.look"
    CHECKPOINTS_RECHECK = "checkpoints.recheck"
    CHECKPOINTS_SCAN = "checkpoints.scan"
    CHECKPOINTS_SCAN_DUE = "checkpoints.scan_due"
    CHECKPOINTS_VERIFY = "checkpoints.verify"
    DETECT_CATCH_UP = "detect.catch_up"
    EVALUATIONS_PLAN = "evaluations.plan"
    EVALUATIONS_WORK = "evaluations.work"
    HOSTS_WEIGH = "hosts.weigh"
    INGEST_FORGET = "ingest.forget"
    LOGS_DUMPS = "logs.dumps"
    LOGS_EXPIRE = "logs.expire"
    LOGS_MEASURE = "logs.measure"
    LOGS_LEARN = "logs.learn"
    LOGS_MERGE = "logs.merge"
    LOGS_RECLASS = "logs.reclass"
    LOGS_SWEEP = "logs.sweep"
    METRICS_COMPACT = "metrics.compact"
    METRICS_GLANCE = "metrics.glance"
    RETENTION_EXPIRE = "retention.expire"
    ROLLBACKS_GOODPUT = "rollbacks.goodput"
    ROLLBACKS_LAUNCH = "rollbacks.launch"
    ROLLBACKS_SYNC = "rollbacks.sync"
    ROLLBACKS_TELL = "rollbacks.tell"
    RUNS_WATCH = "runs.watch"


def enqueue(job: Job, *args: int | str, delay_s: float = 0.0) -> None:
    """Send `job` to the broker once the surrounding transaction has committed.

    delay_s: not to be run earlier; seconds, not hours, because a worker keeps it in memory.
    A dead broker is logged, not raised: the commit stands, and a periodic job finds the work.
    """
    transaction.on_commit(
        lambda: current_app.send_task(job.value, args=args, countdown=delay_s or None),
        robust=True,
    )
