"""When each host came to its newest steps, for the estimate of its clock."""

from __future__ import annotations

from apps.core.sql import execute, query
from apps.logs.domain.clock.skew import ENTRY_BYTES, KEPT, HostClock, host_clocks, pack, unpack
from apps.logs.domain.clock.steptimes import first_times
from apps.logs.domain.reading.columns import LineColumns

MAX_HOSTS = 10_000
# One statement without a read: the bytes of a batch behind those that are there, of all of them the
# newest. -- uses the primary key
_ADD = """
    INSERT INTO logs_stepclock AS c (run_id, attempt, node, body) VALUES (%s, %s, %s, %s)
    ON CONFLICT (run_id, attempt, node) DO UPDATE SET body = substring(
      c.body || EXCLUDED.body FROM greatest(1, length(c.body) + length(EXCLUDED.body) - %s + 1))
"""


def add_step_times(run_id: int, attempt: int, node: str, lines: LineColumns) -> None:
    """Keeps when a node came to steps; in the caller's transaction. Nothing for lines without."""
    first = first_times(lines) if node else {}
    if not first:
        return
    body = pack(first)[-KEPT * ENTRY_BYTES :]
    execute(_ADD, [run_id, attempt, node, body, KEPT * ENTRY_BYTES])


def clocks(run_id: int, attempt: int) -> list[HostClock]:
    """The clock of each host of an attempt, by name. -- uses the primary key"""
    sql = "SELECT node, body FROM logs_stepclock WHERE run_id = %s AND attempt = %s LIMIT %s"
    rows = query(sql, [run_id, attempt, MAX_HOSTS])
    return host_clocks({node: unpack(bytes(body)) for node, body in rows})
