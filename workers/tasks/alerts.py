"""Sending messages."""

from __future__ import annotations

from collections.abc import Sequence

from celery import shared_task
from celery.signals import worker_init

from apps.alerts import aside, mailing, pulse_store, sending
from apps.alerts import services as alerts
from apps.core.clock import now_ns
from apps.core.queue import Job
from apps.core.records import Candidate, Finding
from apps.incidents.domain.incident import IncidentInfo
from apps.incidents.domain.suggestion import Advice
from apps.rollbacks import cards
from apps.rollbacks import services as rollbacks


@worker_init.connect
def warm_up(**_: object) -> None:
    """The first alarm after a start must not wait for what is only loaded once."""
    mailing.warm_up()


def advise(
    incident: IncidentInfo, findings: Sequence[Finding], candidates: Sequence[Candidate]
) -> Advice | None:
    """What the triage card of the incident suggests."""
    card = cards.card(incident, findings=findings, candidates=candidates)
    return card.advice if card else None


@shared_task(name=Job.ALERTS_SEND.value)
def send() -> int:
    """Send what is due, then plan what is missing and send that; how many messages went out.

    What is due goes first: nothing that a scan stumbles over may hold it up.
    """
    pulse_store.beat(now_ns())
    sent = sending.send_due(rollbacks.candidates, advise=advise)
    if alerts.sweep(now_ns()):
        sent += sending.send_due(rollbacks.candidates, advise=advise)
    pulse_store.beat(now_ns())
    return sent


@shared_task(name=Job.ALERTS_DIGEST.value)
def digest() -> int:
    """Plan the daily digests that are due; how many. `send` sends them."""
    return aside.plan_digests(now_ns())
