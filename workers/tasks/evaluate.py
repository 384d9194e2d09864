"""Evaluations: planned by any worker, run by those that read their queue."""

from __future__ import annotations

import redis
from celery import shared_task
from celery.signals import worker_shutting_down

from apps.checkpoints import evaluating
from apps.checkpoints.domain.evaluating import MAX_TIMEOUT_S
from apps.core.clock import now_ns
from apps.core.queue import Job, enqueue
from apps.core.valkey import client
from workers.celery import EVALUATION_QUEUE, app
from workers.evaluator import evaluator

MOST_CALLS = 8
"""Waiting in the queue of evaluators: where none is running they would pile up for ever."""
_LIMIT_S = MAX_TIMEOUT_S + 3_600


@worker_shutting_down.connect
def stop(**_: object) -> None:
    """What runs is killed and goes back into the queue; nobody waits hours for a restart."""
    evaluator.STOP.set()


@shared_task(name=Job.EVALUATIONS_PLAN.value)
def plan() -> int:
    """Plan what is wanted, give back lost leases, wake evaluators; how many jobs could start."""
    due = evaluating.plan(now_ns())
    for _ in range(min(due, MOST_CALLS - _calls())):
        enqueue(Job.EVALUATIONS_WORK)
    return due


def _calls() -> int:
    prefix = app.conf.broker_transport_options["global_keyprefix"]
    try:
        return int(client().llen(f"{prefix}{EVALUATION_QUEUE}"))
    except redis.RedisError:
        return MOST_CALLS  # nobody could be woken


@shared_task(
    name=Job.EVALUATIONS_WORK.value, acks_late=False, time_limit=_LIMIT_S, soft_time_limit=_LIMIT_S
)
def work() -> int:
    """See jobs through until none is due; how many. What dies with this process is in Postgres: its
    lease ends, and the job is tried again."""
    return evaluator.work_all()
