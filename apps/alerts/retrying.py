"""A person has a message sent again that failed or waits for its next try."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.alerts import store
from apps.alerts.domain.message import Kind
from apps.alerts.store import Address
from apps.core.errors import Conflict
from apps.core.queue import Job, enqueue


def retry(address: Address, kind: Kind, seq: int, actor: Actor, now_ns: int) -> None:
    """Makes the message due now. Needs the scope operate.

    Conflict if it is sent already, or a worker is on it. A receiver that folds repeats by the
    delivery id shows it once, should an earlier try have arrived after all.
    """
    require(actor, "operate")
    with transaction.atomic():
        if not store.retry(address, kind, seq, now_ns):
            raise Conflict(
                "this message neither failed nor waits for a try",
                hint="look at the delivery log again",
            )
        about = f"INC-{address.incident_id}" if address.incident_id else "all runs"
        what = f"{kind.value} message {seq} of {about} to {address.recipient}"
        audit(actor, "alert.retried", what, run_id=address.run_id)
        enqueue(Job.ALERTS_SEND)
