"""Hot blocks -> cold blocks and tiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from apps.core.sql import copy_in, execute, query
from apps.metrics.domain import assembly, compaction, tiers
from apps.metrics.domain.assembly import SeriesId, StoredBlock
from apps.metrics.domain.compaction import ColdGroup
from apps.metrics.domain.tiers import LEVELS, Buckets
from apps.metrics.records import Points

MIN_ROWS = 1_024
MIN_BLOCKS = 128
MAX_ROWS = 8_192
MAX_POINTS = 1 << 21
_LOCK = 0x4C47_4D43
"""First half of the advisory lock ("LGMC"); the second is the run."""
_COLD_AXIS = {"run_id": "int8", "axis_id": "int8", "rows": "int4", "axis": "bytea"}
_COLD_BLOCK = {
    "run_id": "int8", "key_id": "int8", "attempt": "int4", "last_step": "int8",
    "block_id": "int8", "first_step": "int8", "axis_id": "int8", "points": "int4", "nan": "int4",
    "posinf": "int4", "neginf": "int4", "minimum": "float8", "maximum": "float8", "cells": "bytea",
}  # fmt: skip
"""From points to maximum as in `blocks.Stats`."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Hot blocks of one attempt that are compacted together, oldest first."""

    run_id: int
    attempt: int
    ranked: bool
    block_ids: list[int]
    blocks: list[StoredBlock]


def runs_to_compact(limit: int = 100) -> list[int]:
    """Runs with enough hot blocks to be worth it. -- scans the primary key of hot blocks"""
    sql = """
        SELECT DISTINCT run_id FROM (
            SELECT run_id FROM metrics_hotblock GROUP BY run_id, attempt, ranked
            HAVING count(*) >= %s OR sum(rows) >= %s) AS due LIMIT %s
    """
    return [row[0] for row in query(sql, [MIN_BLOCKS, MIN_ROWS, limit])]


def compact_once(run_id: int, *, everything: bool = False) -> int:
    """Moves one batch of hot blocks into cold blocks and tiers; how many hot blocks it was.

    Call inside a transaction: a kill leaves all or nothing. 0 if too few are there (`everything`:
    if none are) or another process is at work on this run.
    """
    locked = query("SELECT pg_try_advisory_xact_lock(%s, %s)", [_LOCK, run_id % (1 << 31)])
    if not locked[0][0]:
        return 0
    batch = _next_batch(run_id, 1 if everything else MIN_BLOCKS, 1 if everything else MIN_ROWS)
    if batch is None:
        return 0
    wanted = {key_id for block in batch.blocks for key_id in block.key_ids}
    points = assembly.points(batch.blocks, wanted)
    _store_cold(batch, compaction.groups(points))
    if not batch.ranked:
        _merge_tiers(batch, points)
    execute(
        "DELETE FROM metrics_hotblock WHERE run_id = %s AND attempt = %s AND block_id = ANY(%s)",
        [run_id, batch.attempt, batch.block_ids],
    )
    return len(batch.block_ids)


def _next_batch(run_id: int, min_blocks: int, min_rows: int) -> _Batch | None:
    due = query(
        "SELECT attempt, ranked FROM metrics_hotblock WHERE run_id = %s GROUP BY attempt, ranked"
        " HAVING count(*) >= %s OR sum(rows) >= %s ORDER BY attempt, ranked LIMIT 1",
        [run_id, min_blocks, min_rows],
    )
    if not due:
        return None
    attempt, ranked = due[0]
    # The oldest by arrival, up to a size that bounds memory; the first one always.
    sql = """
        SELECT o.block_id, s.keys, h.axis, h.cells FROM (
            SELECT last_step, block_id, keyset_id,
                   sum(rows) OVER w - rows AS rows_before, sum(points) OVER w - points AS before
              FROM metrics_hotblock WHERE run_id = %s AND attempt = %s AND ranked = %s
            WINDOW w AS (ORDER BY block_id)) o
          JOIN metrics_hotblock h ON h.run_id = %s AND h.attempt = %s
           AND h.last_step = o.last_step AND h.block_id = o.block_id
          JOIN metrics_keyset s ON s.run_id = %s AND s.keyset_id = o.keyset_id
         WHERE o.rows_before < %s AND o.before < %s ORDER BY o.block_id
    """
    params = [run_id, attempt, ranked, run_id, attempt, run_id, MAX_ROWS, MAX_POINTS]
    rows = query(sql, params)
    blocks = [
        StoredBlock(attempt, block_id, block_id, key_ids, bytes(axis), bytes(cells))
        for block_id, key_ids, axis, cells in rows
    ]
    return _Batch(run_id, attempt, ranked, [row[0] for row in rows], blocks)


def _store_cold(batch: _Batch, groups: Sequence[ColdGroup]) -> None:
    axis_ids = [
        row[0]
        for row in query(
            "SELECT nextval('metrics_block_id') FROM generate_series(1, %s)", [len(groups)]
        )
    ]
    numbered = list(zip(axis_ids, groups, strict=True))
    axes = ((batch.run_id, axis_id, group.rows, group.axis) for axis_id, group in numbered)
    copy_in("metrics_coldaxis", _COLD_AXIS, axes)
    newest = max(batch.block_ids)
    columns = (
        (
            batch.run_id, column.key_id, batch.attempt, group.last_step, newest, group.first_step,
            axis_id, *astuple(column.stats), column.cells,
        )
        for axis_id, group in numbered
        for column in group.columns
    )  # fmt: skip
    copy_in("metrics_coldblock", _COLD_BLOCK, columns)


def _merge_tiers(batch: _Batch, points: dict[SeriesId, Points]) -> None:
    """Brings the chunks these points fall into up to date, all in one read and one write."""
    fresh: dict[tuple[int, int, int], Buckets] = {}
    for (key_id, _), found in points.items():
        buckets = None
        for level in LEVELS:
            buckets = (
                tiers.from_points(found.step, found.time_ns, found.value, level)
                if buckets is None
                else tiers.regroup(buckets, level)
            )
            for chunk, part in tiers.split(buckets).items():
                fresh[key_id, level, chunk] = part
    places = list(zip(*fresh, strict=True))
    stored = query(
        "SELECT t.key_id, t.level, t.chunk, t.axis, t.cells"
        "  FROM unnest(%s::bigint[], %s::smallint[], %s::bigint[]) AS n (key_id, level, chunk)"
        "  JOIN metrics_tier t ON t.run_id = %s AND t.key_id = n.key_id AND t.attempt = %s"
        "   AND t.level = n.level AND t.chunk = n.chunk",
        [*map(list, places), batch.run_id, batch.attempt],
    )
    for key_id, level, chunk, axis, cells in stored:
        old = tiers.decode(bytes(axis), bytes(cells), level)
        fresh[key_id, level, chunk] = tiers.merge(old, fresh[key_id, level, chunk])
    encoded = [tiers.encode(part) for part in fresh.values()]
    execute(
        "INSERT INTO metrics_tier (run_id, attempt, key_id, level, chunk, axis, cells)"
        " SELECT %s, %s, n.* FROM unnest("
        "   %s::bigint[], %s::smallint[], %s::bigint[], %s::bytea[], %s::bytea[]) AS n"
        " ON CONFLICT (run_id, key_id, attempt, level, chunk)"
        " DO UPDATE SET axis = EXCLUDED.axis, cells = EXCLUDED.cells",
        [batch.run_id, batch.attempt, *map(list, places),
         [axis for axis, _ in encoded], [cells for _, cells in encoded]],
    )  # fmt: skip
