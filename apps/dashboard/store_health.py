"""How the log store does, for the page of ingest health and the frame of every page."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass

import redis

from apps.ingest import refusals
from apps.logs import keeping
from apps.logs.domain.budget import DiskUse, Fill
from apps.logs.store import disk, merging, notes, trouble
from apps.logs.store.merging import Waiting
from apps.logs.store.trouble import Trouble

ASK_AGAIN_S = 5.0
_warned: list[tuple[float, DiskUse | None]] = [(0.0, None)]


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """disk None: not measured lately, or Valkey is away. refused: (words, requests) of all runs.

    trouble: what the bucket refuses now. orphans: objects that a kill left there, deleted since.
    """

    disk: DiskUse | None
    waiting: Waiting
    trouble: Trouble | None
    orphans: int
    refused: list[tuple[str, int]]


def store_health() -> StoreHealth:
    """Three short reads of Valkey, two of Postgres."""
    counts: Counter[str] = Counter()
    for of_run in refusals.counted().values():
        counts.update(of_run)
    use: DiskUse | None = None
    problem: Trouble | None = None
    with suppress(redis.RedisError):
        use, problem = disk.last(), trouble.current()
    return StoreHealth(
        disk=use,
        waiting=merging.waiting(),
        trouble=problem,
        orphans=int(notes.noted(keeping.ORPHANS) or 0),
        refused=[(refusals.words(reason), count) for reason, count in counts.most_common()],
    )


def disk_warning() -> DiskUse | None:
    """The log store if it is nearly full or full; remembered for ASK_AGAIN_S."""
    until, use = _warned[0]
    if time.monotonic() >= until:
        use = None
        with suppress(redis.RedisError):
            found = disk.last()
            use = found if found is not None and found.fill is not Fill.OK else None
        _warned[0] = (time.monotonic() + ASK_AGAIN_S, use)
    return use
