"""Looking at storage. These run in a worker of their own: a mount may hang."""

from __future__ import annotations

from celery import shared_task

from apps.checkpoints import deleting, hashing, looking, scanning
from apps.core.clock import now_ns
from apps.core.queue import Job
from apps.rollbacks import keeping

EXPIRE_S = 120.0
"""Scans of roots wait behind it."""


@shared_task(name=Job.CHECKPOINTS_SCAN_DUE.value)
def scan_due() -> int:
    """Send every root that is due to the storage worker; how many."""
    return scanning.scan_due()


# Taken off the queue at once: a look that dies is found due again, and no second one may run.
@shared_task(name=Job.CHECKPOINTS_SCAN.value, acks_late=False)
def scan(root_id: int) -> None:
    """Look at one root."""
    scanning.scan(root_id)


@shared_task(name=Job.CHECKPOINTS_EXPIRE.value)
def expire() -> int:
    """Plan what the rules of retention delete, and delete what has waited long enough; how many."""
    deleting.plan_all(keeping.guards, now_ns())
    return deleting.carry_out(keeping.guards, now_ns(), EXPIRE_S).deleted


@shared_task(name=Job.CHECKPOINTS_HASH_DUE.value)
def hash_due() -> int:
    """Send every full hash that waits to the storage worker; how many."""
    return hashing.hash_due()


# The same; and it may take days.
@shared_task(name=Job.CHECKPOINTS_HASH.value, acks_late=False)
def hash_content(run_id: int, attempt: int, step: int, uri: str) -> None:
    """Read every byte of one checkpoint."""
    hashing.read_content(run_id, attempt, step, uri)


# Whoever waits for it has given up by the time that a second one could begin.
@shared_task(name=Job.CHECKPOINTS_LOOK.value, acks_late=False)
def look(run_id: int, attempt: int, step: int, token: str) -> None:
    """Look at one checkpoint for somebody who waits."""
    looking.answer(run_id, attempt, step, token)
