"""What was heard of hosts, whatever their ranks."""

from __future__ import annotations

from collections.abc import Collection

from apps.core.sql import bigints, query


def hosts_heard(attempts: Collection[tuple[int, int]], nodes: Collection[str]) -> dict[str, int]:
    """node -> the time of its newest line in these (run, attempt). -- uses the primary key"""
    sql = """
        SELECT l.node, max(l.last_ns)
          FROM unnest(%s::bigint[], %s::bigint[]) AS w(run_id, attempt)
          JOIN logs_ranklog l ON l.run_id = w.run_id AND l.attempt = w.attempt
         WHERE l.node = ANY(%s) AND l.last_ns IS NOT NULL GROUP BY l.node
    """
    wanted = bigints(run for run, _ in attempts), bigints(number for _, number in attempts)
    return dict(query(sql, [*wanted, list(nodes)])) if attempts else {}
