"""Which file speaks for the job: its lines give metrics, those of other files are copies."""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.records import MetricRow
from apps.core.sql import execute, query
from apps.logs.domain.reading.latejobs import Told

_KNOWN = "SELECT family, node, name FROM logs_speaker WHERE run_id = %s AND attempt = %s"
_ADD = """
    INSERT INTO logs_speaker (run_id, attempt, family, node, name) VALUES (%s, %s, %s, %s, %s)
"""


class Speakers:
    """Those of one attempt, while lines are written; the caller holds the row of the run.

    -- uses the primary key
    """

    def __init__(self, run_id: int, attempt: int) -> None:
        self._place = (run_id, attempt)
        self._known: dict[str, tuple[str, str]] | None = None

    def rows(self, node: str, told: Sequence[Told]) -> tuple[list[MetricRow], int]:
        """(rows of the files that speak for the job, how many the others told).

        A family that nobody spoke yet is spoken from now on by the file of the lowest local rank in
        `told`.
        """
        if not told:
            return [], 0
        speakers = self._speakers()
        for one in sorted(told, key=_rank_first):
            if one.family not in speakers:
                speakers[one.family] = (node, one.name)
                execute(_ADD, [*self._place, one.family, node, one.name])
        speaking = [one for one in told if speakers[one.family] == (node, one.name)]
        rows = [row for one in speaking for row in one.read()]
        return rows, sum(len(one.rows) for one in told) - len(rows)

    def _speakers(self) -> dict[str, tuple[str, str]]:
        if self._known is None:
            self._known = {row[0]: (row[1], row[2]) for row in query(_KNOWN, self._place)}
        return self._known


def _rank_first(one: Told) -> tuple[bool, int]:
    return one.local_rank is None, one.local_rank or 0
