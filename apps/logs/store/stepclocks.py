"""When each host came to its newest steps, for the estimate of its clock."""

from __future__ import annotations

from collections.abc import Mapping

from apps.core.sql import execute, query
from apps.logs.domain.clock.skew import ENTRY_BYTES, KEPT, HostClock, host_clocks, pack, unpack
from apps.logs.domain.clock.steptimes import first_times
from apps.logs.domain.reading.columns import LineColumns

MAX_HOSTS = 10_000
# One statement without a read: the bytes of a batch behind those that are there, of all of them the
# newest. -- uses the primary key
_ADD = """
    INSERT INTO logs_stepclock AS c (run_id, attempt, node, body)
    SELECT %s, %s, n.node, n.body FROM unnest(%s::text[], %s::bytea[]) AS n (node, body)
    ON CONFLICT (run_id, attempt, node) DO UPDATE SET body = substring(
      c.body || EXCLUDED.body FROM greatest(1, length(c.body) + length(EXCLUDED.body) - %s + 1))
"""


def step_times_of(lines: LineColumns) -> bytes:
    """When the lines of a batch came to steps, as it is kept."""
    return pack(first_times(lines))


def add_step_times(run_id: int, attempt: int, by_node: Mapping[str, bytes]) -> None:
    """Keeps when nodes came to steps; in the caller's transaction. Nothing for lines without.

    by_node: of step_times_of(), of batches one after the other.
    """
    most = KEPT * ENTRY_BYTES
    told = {node: body[-most:] for node, body in sorted(by_node.items()) if body and node}
    if told:
        execute(_ADD, [run_id, attempt, list(told), list(told.values()), most])


def clocks(run_id: int, attempt: int) -> list[HostClock]:
    """The clock of each host of an attempt, by name. -- uses the primary key"""
    sql = "SELECT node, body FROM logs_stepclock WHERE run_id = %s AND attempt = %s LIMIT %s"
    rows = query(sql, [run_id, attempt, MAX_HOSTS])
    return host_clocks({node: unpack(bytes(body)) for node, body in rows})
