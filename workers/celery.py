"""The Celery app: derived jobs only. What must not be lost lies in Postgres, not in the broker."""

from __future__ import annotations

import logging
import os
from typing import Any

from celery import Celery
from django.conf import settings
from kombu.exceptions import OperationalError

from apps.core.queue import Job
from workers.schedule import beat_schedule

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

VISIBILITY_TIMEOUT_S = 900
"""Longer than the longest task (TIME_LIMIT_S); then an unacknowledged message is given away."""
TIME_LIMIT_S = 600
EVALUATION_QUEUE = "evaluation"
STORAGE_QUEUE = "storage"

log = logging.getLogger(__name__)


class LastgoodCelery(Celery):
    """Celery that survives a dead broker: whoever enqueues has committed already."""

    def send_task(self, name: str, *args: Any, **options: Any) -> Any:
        """As Celery's; None if the broker is away. The periodic twin of the job finds the work."""
        try:
            return super().send_task(name, *args, **options)
        except OperationalError as error:
            log.warning("celery.publish_failed", extra={"job": name, "reason": str(error)[:200]})
            return None


app = LastgoodCelery("lastgood")
app.conf.update(
    # Without a fallback Celery would look for an AMQP server.
    broker_url=settings.REDIS_URL or "redis://127.0.0.1:6379/0",
    # Without the two unacked_* values a killed worker's messages came back after 94 s instead of
    # 16 s (visibility 15 s): kombu looks for them only every 10 x 10 s.
    broker_transport_options={
        "visibility_timeout": VISIBILITY_TIMEOUT_S,
        "unacked_restore_interval": 2,
        "unacked_restore_throttle": 1,
        "socket_timeout": 30,
        "socket_connect_timeout": 5,
        "retry_on_timeout": True,
        # One try: by default a publisher waits 6 s for a broker that refuses.
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0,
        "interval_max": 0,
        "global_keyprefix": "celery:",
    },
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    # A dead broker must not hold up the writer.
    task_publish_retry=False,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    task_ignore_result=True,
    result_backend=None,
    accept_content=["json"],
    task_serializer="json",
    task_time_limit=TIME_LIMIT_S,
    task_soft_time_limit=TIME_LIMIT_S - 30,
    task_default_queue="lastgood",
    # Queues with workers of their own: an evaluation takes hours and a mount may hang, and mails
    # must not wait for either.
    task_routes={
        Job.EVALUATIONS_WORK.value: {"queue": EVALUATION_QUEUE},
        Job.CHECKPOINTS_EXPIRE.value: {"queue": STORAGE_QUEUE},
        Job.CHECKPOINTS_HASH.value: {"queue": STORAGE_QUEUE},
        Job.CHECKPOINTS_LOOK.value: {"queue": STORAGE_QUEUE},
        Job.CHECKPOINTS_SCAN.value: {"queue": STORAGE_QUEUE},
    },
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    timezone="UTC",
    beat_schedule=beat_schedule(),
    imports=(
        "workers.tasks.accounts",
        "workers.tasks.alerts",
        "workers.tasks.checkpoints",
        "workers.tasks.detect",
        "workers.tasks.evaluate",
        "workers.tasks.ingest",
        "workers.tasks.logs",
        "workers.tasks.metrics",
        "workers.tasks.retention",
        "workers.tasks.rollbacks",
        "workers.tasks.storage",
        "workers.tasks.watch",
    ),
)
