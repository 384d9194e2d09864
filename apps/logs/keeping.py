"""Use cases of keeping: merging small chunks, sweeping the bucket, measuring what there is."""

from __future__ import annotations

import logging
import time
from dataclasses import astuple
from datetime import datetime

from apps.logs.domain.chunk.budget import DiskUse, Fill
from apps.logs.domain.chunk.merging import MergePolicy
from apps.logs.store import disk, merging, notes, sweep
from apps.logs.store.merging import Merged

log = logging.getLogger(__name__)
ORPHANS = "bucket_orphans"


def merge_due(budget_s: float, policy: MergePolicy | None = None) -> Merged:
    """Merges small chunks of every run that is due, for budget_s at most; the sum of all.

    Runs take turns, so that a large one keeps no other waiting. Raises BucketAway.
    """
    policy = policy or MergePolicy()
    end = time.monotonic() + budget_s
    total = Merged()
    due = merging.runs_to_merge(policy)
    while due and time.monotonic() < end:
        run_id = due.pop(0)
        done = merging.merge_some(run_id, policy)
        if done.chunks:
            total = Merged(*(a + b for a, b in zip(astuple(total), astuple(done), strict=True)))
            due.append(run_id)
    return total


def sweep_bucket(now: datetime) -> sweep.Swept:
    """Deletes objects that nothing refers to; counts those that a kill left behind.

    Raises BucketAway.
    """
    swept = sweep.sweep(now)
    notes.add_up(ORPHANS, swept.orphans)
    if swept.dropped or swept.orphans:
        log.info("logs.bucket_swept", extra={"dropped": swept.dropped, "orphans": swept.orphans})
    return swept


def measure_disk(now_ns: int) -> DiskUse:
    """Measures the log store. What passes a mark of its budget is logged and counted once.

    Raises redis.RedisError.
    """
    before = disk.last()
    use = disk.measure(now_ns)
    if use.fill is not Fill.OK and (before is None or before.fill is not use.fill):
        notes.add_up(f"disk_{use.fill.value}", 1)
        log.warning("logs.disk", extra={"fill": use.fill.value, "percent": use.percent})
    return use
