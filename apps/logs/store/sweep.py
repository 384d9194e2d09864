"""Objects of the bucket that nothing refers to: dropped bundles, and what a kill left behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from apps.core.clock import now_ns
from apps.core.sql import execute, query
from apps.logs.store.bucket import Bucket, bucket
from apps.logs.store.notes import note, noted
from apps.logs.store.payloads import hour_of

GRACE = timedelta(hours=1)
"""A reader may still want a bundle that was dropped, a writer still commit one that it put."""
AT_ONCE = 500
_NOTE = "bucket_swept_hour"
_HOURS_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Swept:
    """dropped: bundles without chunks. orphans: objects without a bundle, and their bytes."""

    dropped: int = 0
    orphans: int = 0
    orphan_bytes: int = 0


def sweep(now: datetime) -> Swept:
    """Deletes both kinds, some hours of the bucket at a time. Idempotent. Raises BucketAway."""
    store = bucket()
    if store is None:
        return Swept()
    dropped = 0
    while done := _drop(store, now - GRACE):
        dropped += done
    return _orphans(store, dropped)


def _drop(store: Bucket, before: datetime) -> int:
    """Objects first, rows after: a kill between the two only repeats. -- uses ix_bundle_dropped"""
    sql = """
        SELECT run_id, bundle_id, key FROM logs_bundle WHERE dropped_at < %s
         ORDER BY dropped_at LIMIT %s FOR UPDATE SKIP LOCKED
    """
    with transaction.atomic():
        rows = query(sql, [before, AT_ONCE])
        store.delete([key for _, _, key in rows])
        for run_id, bundle_id, _ in rows:
            execute(
                "DELETE FROM logs_bundle WHERE run_id = %s AND bundle_id = %s", [run_id, bundle_id]
            )
    return len(rows)


def _orphans(store: Bucket, dropped: int) -> Swept:
    """Looks through the hours since the last sweep that are over for GRACE."""
    newest = hour_of(now_ns()) - 1 - int(GRACE / timedelta(hours=1))
    first = int(noted(_NOTE) or newest - 1) + 1
    last = min(newest, first + _HOURS_AT_ONCE - 1)
    count = size = 0
    for hour in range(first, last + 1):
        for page in store.below(f"chunks/{hour}"):
            keys = {entry.key: entry.size_bytes for entry in page}
            lost = sorted(keys.keys() - _known(list(keys)))
            store.delete(lost)
            count, size = count + len(lost), size + sum(keys[key] for key in lost)
        note(_NOTE, str(hour))
    return Swept(dropped, count, size)


def _known(keys: list[str]) -> set[str]:
    """-- uses the unique key of bundles"""
    return {row[0] for row in query("SELECT key FROM logs_bundle WHERE key = ANY(%s)", [keys])}
