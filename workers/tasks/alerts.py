"""Sending messages."""

from __future__ import annotations

from celery import shared_task

from apps.alerts import services as alerts
from apps.core.clock import now_ns
from apps.core.queue import Job
from apps.rollbacks import services as rollbacks


@shared_task(name=Job.ALERTS_SEND.value)
def send() -> int:
    """Plan what is missing and send what is due; how many messages went out."""
    alerts.sweep(now_ns())
    return alerts.send_due(rollbacks.candidates)
