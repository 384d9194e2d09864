"""How much the log store holds: measured by a job, kept in Valkey, where doors and pages look."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import redis
from django.conf import settings

from apps.core import valkey
from apps.core.sql import query
from apps.logs.domain.chunk.budget import DiskUse, Fill

KEY = "{logs}:disk"
KEEP_S = 900
"""A job that died must not close the doors for ever."""
CHUNK_ROW_BYTES = 300
"""A chunk's row with its index entries, less its body."""
_TABLES = (
    "logs_chunk",
    "logs_event",
    "logs_pulsehour",
    "logs_source",
    "logs_ranklog",
    "logs_template",
    "logs_templatetally",
)


def measure(now_ns: int) -> DiskUse:
    """Looks it up and keeps it. Cost: a scan of the chunk rows, without their bodies."""
    ((chunks, packed),) = query("SELECT count(*), coalesce(sum(size_bytes), 0) FROM logs_chunk")
    others = _TABLES[1:]
    use = DiskUse(
        used_bytes=int(packed) + chunks * CHUNK_ROW_BYTES + _live_bytes(others),
        postgres_bytes=_on_disk(_TABLES),
        budget_bytes=settings.LOGS_DISK_BYTES,
        measured_ns=now_ns,
    )
    valkey.client().set(KEY, msgspec.json.encode(use), ex=KEEP_S)
    return use


def _live_bytes(tables: tuple[str, ...]) -> int:
    """Bytes of tables and indexes, less the share of rows that are dead."""
    sql = """
        SELECT coalesce(sum(pg_total_relation_size(relid) * n_live_tup
          / greatest(n_live_tup + n_dead_tup, 1)), 0)
        FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname = ANY(%s)
    """
    return int(query(sql, [list(tables)])[0][0])


def _on_disk(tables: tuple[str, ...]) -> int:
    sql = """
        SELECT coalesce(sum(pg_total_relation_size(relid)), 0)
        FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname = ANY(%s)
    """
    return int(query(sql, [list(tables)])[0][0])


def last() -> DiskUse | None:
    """What was measured last; None if nothing was for KEEP_S. Raises redis.RedisError."""
    kept = valkey.client().get(KEY)
    return msgspec.json.decode(kept, type=DiskUse) if isinstance(kept, bytes) else None


def is_full() -> bool:
    """Whether doors for log lines are closed. Without Valkey: no; then nothing is taken anyway."""
    with suppress(redis.RedisError):
        use = last()
        return use is not None and use.fill is Fill.FULL
    return False
