"""The newest step of each rank, for those attempts in which some rank may be behind."""

from __future__ import annotations

from collections.abc import Mapping

from apps.core.sql import bigints, query
from apps.logs.domain.triage.silent import RankPulse
from apps.logs.store.reading import MAX_RANKS

# Only sums leave the database for attempts in which all ranks are at the same step.
_UNEVEN = """
    SELECT l.run_id FROM unnest(%s::bigint[], %s::int[]) AS a (run_id, attempt)
      JOIN logs_ranklog l USING (run_id, attempt)
     WHERE l.rank IS NOT NULL AND l.last_step IS NOT NULL
     GROUP BY l.run_id HAVING count(*) >= 4 AND min(l.last_step) < max(l.last_step)
"""
_PULSES = """
    SELECT rank, node, last_step, progress_ns, pace_ns FROM logs_ranklog
     WHERE run_id = %s AND attempt = %s AND rank IS NOT NULL AND last_step IS NOT NULL
     ORDER BY rank, progress_ns LIMIT %s
"""


def uneven(attempts: Mapping[int, int]) -> set[int]:
    """The runs of run_id -> attempt whose ranks are not all at one step. -- uses the primary key"""
    ids = list(attempts)
    rows = query(_UNEVEN, [bigints(ids), [attempts[run_id] for run_id in ids]]) if ids else []
    return {run_id for (run_id,) in rows}


def pulses(run_id: int, attempt: int) -> list[RankPulse]:
    """The newest step of each rank, by rank; of a rank that moved, where it was heard last.

    -- uses the primary key
    """
    rows = query(_PULSES, [run_id, attempt, MAX_RANKS])
    return list({rank: RankPulse(rank, *rest) for rank, *rest in rows}.values())
