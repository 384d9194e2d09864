"""Which file speaks for the job: its lines give metrics, those of other files are copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.records import MetricRow
from apps.core.sql import execute, query
from apps.logs.domain.joblines import JobRow


@dataclass(frozen=True, slots=True)
class Told:
    """What a line of a file told of the job. local_rank: of the file, None for a console."""

    name: str
    local_rank: int | None
    job: JobRow


def of_speakers(
    run_id: int, attempt: int, node: str, told: Sequence[Told]
) -> tuple[MetricRow, ...]:
    """The rows of the files that speak for the job; in the caller's transaction.

    A family that nobody spoke yet is spoken from now on by the file of the lowest local rank in
    `told`. The caller holds the row of the run. -- uses the primary key
    """
    if not told:
        return ()
    sql = "SELECT family, node, name FROM logs_speaker WHERE run_id = %s AND attempt = %s"
    speakers = {row[0]: (row[1], row[2]) for row in query(sql, [run_id, attempt])}
    for one in sorted(told, key=_rank_first):
        if one.job.family not in speakers:
            speakers[one.job.family] = (node, one.name)
            execute(
                "INSERT INTO logs_speaker (run_id, attempt, family, node, name)"
                " VALUES (%s, %s, %s, %s, %s)",
                [run_id, attempt, one.job.family, node, one.name],
            )
    return tuple(one.job.row for one in told if speakers[one.job.family] == (node, one.name))


def _rank_first(one: Told) -> tuple[bool, int]:
    return one.local_rank is None, one.local_rank or 0
