"""How the log store does, for ingest health, the logs page and the frame of every page."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass

import redis

from apps.ingest import refusals
from apps.logs import keeping
from apps.logs.domain.chunk.budget import DiskUse, Fill
from apps.logs.domain.clock.skew import HostClock
from apps.logs.store import disk, expiring, merging, notes, stepclocks, trouble
from apps.logs.store.expiring import DeletedLogs
from apps.logs.store.merging import Waiting
from apps.logs.store.trouble import Trouble

ASK_AGAIN_S = 5.0
SHOWN_CLOCKS = 20
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


@dataclass(frozen=True, slots=True)
class LogCaveats:
    """What a reader of an attempt's lines has to know. deleted: by retention; None: nothing was.

    clocks: of hosts that are apart, the furthest first. hosts: how many were compared.
    """

    deleted: DeletedLogs | None
    clocks: list[HostClock]
    hosts: int


def log_caveats(run_id: int, attempt: int | None) -> LogCaveats:
    """Two reads by primary key, and some ms for a thousand hosts."""
    if attempt is None:
        return LogCaveats(None, [], 0)
    gone = [one for one in expiring.deleted(run_id) if one.attempt == attempt]
    known = [clock for clock in stepclocks.clocks(run_id, attempt) if clock.skew_ns is not None]
    apart = sorted((c for c in known if c.apart), key=lambda c: -abs(c.skew_ns or 0))
    return LogCaveats(gone[0] if gone else None, apart[:SHOWN_CLOCKS], len(known))


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
