"""The one statement that reads points: hot, cold and tier blocks in a single snapshot.

Compaction moves points from hot to cold blocks in one transaction. Two statements could see a
point twice or not at all, one cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.core.sql import bigints, query_bytes
from apps.metrics.domain.assembly import StoredBlock, StoredTier
from apps.metrics.domain.tiers import chunk_of
from apps.metrics.store.names import keysets


@dataclass(frozen=True, slots=True)
class Plan:
    """What to fetch. Steps are included at both ends.

    level: take tiers of this level instead of the cold blocks; with `places` also those cold blocks
    that hold non-finite values (only these can tell at which step they lie).
    """

    run_id: int
    key_ids: Sequence[int]
    attempt: int | None = None
    from_step: int | None = None
    to_step: int | None = None
    level: int | None = None
    places: bool = True


@dataclass(frozen=True, slots=True)
class Fetched:
    """Blocks of a plan, not decoded."""

    hot: list[StoredBlock] = field(default_factory=list)
    cold: list[StoredBlock] = field(default_factory=list)
    tiers: list[StoredTier] = field(default_factory=list)


def fetch(plan: Plan) -> Fetched:
    """The blocks of the plan. -- uses the primary keys of all four tables"""
    found = Fetched()
    if not plan.key_ids:
        return found
    columns = keysets(plan.run_id, plan.key_ids)
    parts = [_hot(plan, list(columns))]
    if plan.level is None or plan.places:
        parts.append(_cold(plan))
    if plan.level is not None:
        parts.append(_tiers(plan, plan.level))
    sql = " UNION ALL ".join(sql for sql, _ in parts)
    params = [value for _, values in parts for value in values]
    for kind, attempt, order, ref, axis, cells in query_bytes(sql, params):
        if kind == "hot":
            block = StoredBlock(attempt, order, -order, columns[ref], bytes(axis), bytes(cells))
            found.hot.append(block)
        elif kind == "tier":
            tier = StoredTier(ref, attempt, plan.level or 0, bytes(axis), bytes(cells))
            found.tiers.append(tier)
        else:
            key_id = int(kind)
            found.cold.append(StoredBlock(attempt, order, ref, [key_id], bytes(axis), bytes(cells)))
    return found


def _hot(plan: Plan, keyset_ids: list[int]) -> tuple[str, list[Any]]:
    where, params = _range(plan, "h")
    sql = (
        "SELECT 'hot' AS kind, h.attempt, h.block_id, h.keyset_id, h.axis, h.cells"  # noqa: S608
        f" FROM metrics_hotblock h WHERE h.run_id = %s AND h.keyset_id = ANY(%s){where}"
    )
    return sql, [plan.run_id, keyset_ids, *params]


def _cold(plan: Plan) -> tuple[str, list[Any]]:
    where, params = _range(plan, "c")
    if plan.level is not None:
        where += " AND c.nan + c.posinf + c.neginf > 0"
    sql = (
        "SELECT c.key_id::text, c.attempt, c.block_id, c.axis_id, a.axis, c.cells"  # noqa: S608
        " FROM metrics_coldblock c JOIN metrics_coldaxis a"
        "   ON a.run_id = c.run_id AND a.axis_id = c.axis_id"
        f" WHERE c.run_id = %s AND c.key_id = ANY(%s::bigint[]){where}"
    )
    return sql, [plan.run_id, bigints(plan.key_ids), *params]


def _tiers(plan: Plan, level: int) -> tuple[str, list[Any]]:
    where = ""
    params: list[Any] = []
    if plan.attempt is not None:
        where, params = " AND t.attempt = %s", [plan.attempt]
    if plan.from_step is not None:
        where, params = where + " AND t.chunk >= %s", [*params, chunk_of(plan.from_step, level)]
    if plan.to_step is not None:
        where, params = where + " AND t.chunk <= %s", [*params, chunk_of(plan.to_step, level)]
    sql = (
        "SELECT 'tier', t.attempt, t.chunk, t.key_id, t.axis, t.cells FROM metrics_tier t"  # noqa: S608
        f" WHERE t.run_id = %s AND t.key_id = ANY(%s) AND t.level = %s{where}"
    )
    return sql, [plan.run_id, list(plan.key_ids), level, *params]


def _range(plan: Plan, table: str) -> tuple[str, list[Any]]:
    """The conditions on attempt and steps; table is "h" or "c"."""
    where = ""
    params: list[Any] = []
    for condition, value in (
        (f" AND {table}.attempt = %s", plan.attempt),
        (f" AND {table}.last_step >= %s", plan.from_step),
        (f" AND {table}.first_step <= %s", plan.to_step),
    ):
        if value is not None:
            where, params = where + condition, [*params, value]
    return where, params
