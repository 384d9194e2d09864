"""Fault classes of a project, and the analysis that follows from a change."""

from __future__ import annotations

import time

from django.db import transaction

from apps.accounts.records import Actor
from apps.ingest import store
from apps.logs import faultclasses, reclassing
from apps.logs.domain.triage.ownclasses import OwnClasses


def change(
    project: str, asked: OwnClasses, *, actor: Actor, reason: str, now_ns: int
) -> list[tuple[int, int]]:
    """Stores them (see `faultclasses.save`); the (run, attempt) whose analysis is due now."""
    with transaction.atomic():
        again = faultclasses.save(project, asked, actor=actor, reason=reason, now_ns=now_ns)
        for run_id, attempt in again:
            store.mark_written(run_id, [attempt])
    return again


def reclass(budget_s: float) -> int:
    """Gives stored lines the classes that have changed, for budget_s; how many attempts are
    through. Their analysis is due then.

    Each slice is a transaction of its own: a process that dies costs one slice.
    """
    until_s, through = time.monotonic() + budget_s, 0
    while time.monotonic() < until_s:
        with transaction.atomic():
            done = reclassing.take_slice(until_s)
            if done is not None and done.through:
                store.mark_written(done.run_id, [done.attempt])
                through += 1
        if done is None:
            break
    return through
