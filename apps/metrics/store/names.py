"""The names of series and their ids."""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.errors import BadPayload
from apps.core.sql import bigints, execute, query
from apps.metrics.domain.packing import Packed
from apps.metrics.models import SeriesKey
from apps.metrics.records import KeyInfo

MAX_NAMES = 100_000
MAX_KEYSETS = 10_000
"""Sets of names a run may log together. Beyond, new sets are stored name by name."""


class TooVaried(Exception):
    """The run has MAX_KEYSETS sets of names, and this matrix would add one."""


def keys(run_id: int) -> list[KeyInfo]:
    """The series of a run, by name. Cost: one index scan over its cold blocks, none decoded.

    -- uses uq_metrics_series_key and the primary keys of hot and cold blocks
    """
    sql = """
        WITH hot AS (
            SELECT keyset_id, max(last_step) AS last_step
              FROM metrics_hotblock WHERE run_id = %s GROUP BY keyset_id
        ), seen AS (
            SELECT unnest(s.keys) AS key_id, hot.last_step
              FROM hot JOIN metrics_keyset s ON s.run_id = %s AND s.keyset_id = hot.keyset_id
            UNION ALL
            SELECT key_id, max(last_step) FROM metrics_coldblock WHERE run_id = %s GROUP BY key_id
        ), newest AS (SELECT key_id, max(last_step) AS last_step FROM seen GROUP BY key_id)
        SELECT k.key, k.ranked, newest.last_step
          FROM metrics_serieskey k LEFT JOIN newest USING (key_id)
         WHERE k.run_id = %s ORDER BY k.key, k.ranked LIMIT %s
    """
    return [KeyInfo(*row) for row in query(sql, [*[run_id] * 4, MAX_NAMES])]


def key_names(run_id: int, *, ranked: bool) -> list[str]:
    """Only the names of one form: what detectors need, without a look at blocks.

    -- uses uq_metrics_series_key
    """
    found = SeriesKey.objects.filter(run_id=run_id, ranked=ranked).order_by("key")
    return list(found.values_list("key", flat=True)[:MAX_NAMES])


def all_names(run_id: int) -> tuple[list[str], list[str]]:
    """The names of the series of the job, and of those of ranks. -- uses uq_metrics_series_key"""
    rows = SeriesKey.objects.filter(run_id=run_id).order_by("key").values_list("key", "ranked")
    found: tuple[list[str], list[str]] = ([], [])
    for key, ranked in rows[:MAX_NAMES]:
        found[ranked].append(key)
    return found


def newer_keys(run_id: int, above: int) -> list[tuple[int, str]]:
    """(key_id, name) of the series of the job with a larger key_id, in order of appearance.

    -- uses uq_metrics_series_key
    """
    sql = (
        "SELECT key_id, key FROM metrics_serieskey WHERE run_id = %s AND NOT ranked"
        " AND key_id > %s ORDER BY key_id LIMIT %s"
    )
    return [(key_id, key) for key_id, key in query(sql, [run_id, above, MAX_NAMES])]


def names_of(run_id: int, key_ids: Sequence[int]) -> dict[int, str]:
    """key_id -> name. -- uses the primary key"""
    found = SeriesKey.objects.filter(run_id=run_id, key_id__in=list(key_ids))
    return dict(found.values_list("key_id", "key"))


def ids(run_id: int, names: Sequence[str], *, ranked: bool | None = None) -> dict[int, str]:
    """key_id -> name of those that exist; ranked None: both forms. -- uses uq_metrics_series_key"""
    found = SeriesKey.objects.filter(run_id=run_id, key__in=list(names))
    if ranked is not None:
        found = found.filter(ranked=ranked)
    return dict(found.values_list("key_id", "key"))


def keysets(run_id: int, key_ids: Sequence[int]) -> dict[int, list[int]]:
    """keyset_id -> its columns, of those that hold a wanted key. -- uses the primary key"""
    sql = "SELECT keyset_id, keys FROM metrics_keyset WHERE run_id = %s AND keys && %s::bigint[]"
    rows = query(sql, [run_id, bigints(key_ids)])
    return {row[0]: row[1] for row in rows}


def next_block(run_id: int, packed: Packed) -> int:
    """The number of the next block; names and keyset of the matrix are stored when they are new.

    Normally one statement. Safe under concurrent writers of the same names. BadPayload when the run
    would have more than MAX_NAMES names: a number has become part of them. TooVaried when it has
    MAX_KEYSETS sets of names and this would be a new one of several.
    """
    (block_id, known), *_ = query(
        "SELECT nextval('metrics_block_id'), EXISTS ("
        "SELECT 1 FROM metrics_keyset WHERE run_id = %s AND keyset_id = %s)",
        [run_id, packed.keyset_id],
    )
    if not known:
        if len(packed.names) > 1 and _keyset_count(run_id) >= MAX_KEYSETS:
            raise TooVaried
        _store(run_id, packed)
    return int(block_id)


def _keyset_count(run_id: int) -> int:
    """How many sets of names a run has, counted up to MAX_KEYSETS. -- uses the primary key"""
    sql = "SELECT 1 FROM metrics_keyset WHERE run_id = %s LIMIT %s"
    return len(query(sql, [run_id, MAX_KEYSETS]))


def _store(run_id: int, packed: Packed) -> None:
    names = list(packed.names)
    # Sorted names: two writers that add the same keys take their locks in the same order.
    execute(
        "INSERT INTO metrics_serieskey (run_id, key, ranked)"
        " SELECT %s, name, %s FROM unnest(%s::text[]) AS name"
        " ON CONFLICT (run_id, key, ranked) DO NOTHING",
        [run_id, packed.ranked, names],
    )
    _check_count(run_id)
    execute(
        "INSERT INTO metrics_keyset (run_id, keyset_id, keys)"
        " SELECT %s, %s, array_agg(k.key_id ORDER BY n.place)"
        "   FROM unnest(%s::text[]) WITH ORDINALITY AS n (name, place)"
        "   JOIN metrics_serieskey k ON k.run_id = %s AND k.key = n.name AND k.ranked = %s"
        " ON CONFLICT DO NOTHING",
        [run_id, packed.keyset_id, names, run_id, packed.ranked],
    )


def _check_count(run_id: int) -> None:
    sql = "SELECT count(*) FROM metrics_serieskey WHERE run_id = %s"
    if query(sql, [run_id])[0][0] > MAX_NAMES:
        raise BadPayload(
            f"the run would have more than {MAX_NAMES} metric names",
            where="values",
            hint="is a number part of the names? group them, or log less",
        )
