"""Which file speaks for the job: its lines give metrics, those of other files are copies."""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.records import MetricRow
from apps.core.sql import execute, query
from apps.logs.domain.reading.latejobs import Told


def of_speakers(
    run_id: int, attempt: int, node: str, told: Sequence[Told]
) -> tuple[tuple[MetricRow, ...], int]:
    """(rows of the files that speak for the job, how many the others told); in the caller's
    transaction.

    A family that nobody spoke yet is spoken from now on by the file of the lowest local rank in
    `told`. The caller holds the row of the run. -- uses the primary key
    """
    if not told:
        return (), 0
    sql = "SELECT family, node, name FROM logs_speaker WHERE run_id = %s AND attempt = %s"
    speakers = {row[0]: (row[1], row[2]) for row in query(sql, [run_id, attempt])}
    for one in sorted(told, key=_rank_first):
        if one.family not in speakers:
            speakers[one.family] = (node, one.name)
            execute(
                "INSERT INTO logs_speaker (run_id, attempt, family, node, name)"
                " VALUES (%s, %s, %s, %s, %s)",
                [run_id, attempt, one.family, node, one.name],
            )
    speaking = [one for one in told if speakers[one.family] == (node, one.name)]
    rows = tuple(row for one in speaking for row in one.read())
    return rows, sum(len(one.rows) for one in told) - len(rows)


def _rank_first(one: Told) -> tuple[bool, int]:
    return one.local_rank is None, one.local_rank or 0
