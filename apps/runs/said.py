"""Statements about what a run says of itself: JSON that grows by names, within bounds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from django.db import connection

from apps.runs.models import AttemptConfig

MAX_SAID_BYTES = 4 << 20
"""How large the configuration of a run, or the summary of an attempt, may grow (as jsonb)."""


def merge(
    table: str, column: str, values: Mapping[str, Any], where: str, key: Sequence[int]
) -> bool:
    """Adds keys to a JSON column; a later value wins. False if it would become too large, then it
    stays as it is. Names come from this module only."""
    merged = f"{column} || %s::jsonb"
    fits = f"pg_column_size({merged}) <= {MAX_SAID_BYTES}"
    sql = f"UPDATE {table} SET {column} = {merged} WHERE {where} AND {fits}"  # noqa: S608
    said = orjson.dumps(dict(values)).decode()
    with connection.cursor() as cursor:
        cursor.execute(sql, [said, *key, said])
        return bool(cursor.rowcount)


def note_config(run_id: int, attempt: int, config: Mapping[str, Any]) -> bool:
    """Adds names to what an attempt said of its configuration; False if it would be too large."""
    AttemptConfig.objects.bulk_create(
        [AttemptConfig(run_id=run_id, number=attempt)], ignore_conflicts=True
    )
    where = "run_id = %s AND number = %s"
    return merge("runs_attemptconfig", "config", config, where, [run_id, attempt])


def configs(run_id: int, attempts: Collection[int]) -> dict[int, dict[str, Any]]:
    """attempt -> what it said of its configuration; none for one that said nothing.

    -- uses the primary key
    """
    rows = AttemptConfig.objects.filter(run_id=run_id, number__in=list(attempts))
    return dict(rows.values_list("number", "config"))
