"""Sending messages."""

from __future__ import annotations

from celery import shared_task

from apps.alerts import sending
from apps.alerts import services as alerts
from apps.core.clock import now_ns
from apps.core.queue import Job
from apps.rollbacks import services as rollbacks


@shared_task(name=Job.ALERTS_SEND.value)
def send() -> int:
    """Send what is due, then plan what is missing and send that; how many messages went out.

    What is due goes first: nothing that a scan stumbles over may hold it up.
    """
    sent = sending.send_due(rollbacks.candidates)
    if alerts.sweep(now_ns()):
        sent += sending.send_due(rollbacks.candidates)
    return sent
