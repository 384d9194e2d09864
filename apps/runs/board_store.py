"""What the list of runs is ordered by: the state of runs that are not settled, in one statement."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from apps.core.sql import query
from apps.runs.domain.contact import lag_s
from apps.runs.domain.state import run_state

MAX_LIVE = 2_000
"""So many watched runs are ordered by urgency; older ones follow by age."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands. last_row_ns: time of the newest row of its newest attempt."""

    run_id: int
    project: str
    state: str
    heard_ns: int | None
    last_row_ns: int | None


def watched_ids() -> list[int]:
    """Runs that may still change by themselves, newest first. -- uses ix_watched"""
    sql = "SELECT run_id FROM runs_contact WHERE watched ORDER BY run_id DESC LIMIT %s"
    return [run_id for (run_id,) in query(sql, [MAX_LIVE])]


def standings(run_ids: Collection[int], now_ns: int) -> list[Standing]:
    """The runs of these that there are. -- uses primary keys"""
    sql = """
        SELECT r.id, r.project, c.heard_ns, c.limit_s, w.looked_ns, w.judged_ns,
               a.exit_code, a.failed, a.last_row_ns
          FROM runs_run r
          LEFT JOIN runs_contact c ON c.run_id = r.id
          LEFT JOIN runs_watch w ON w.id = 1
          LEFT JOIN LATERAL (
            SELECT exit_code, failed, last_row_ns FROM runs_attempt
             WHERE run_id = r.id ORDER BY number DESC LIMIT 1) a ON true
         WHERE r.id = ANY(%s)
    """
    return [_standing(row, now_ns) for row in query(sql, [list(run_ids)])]


def _standing(row: tuple[Any, ...], now_ns: int) -> Standing:
    run_id, project, heard, limit_s, looked, judged, exit_code, failed, last_row = row
    age_s = None
    if heard is not None:
        age_s = (now_ns - heard) / 1e9 - lag_s(now_ns, looked, judged)
    state = run_state(
        exit_code=exit_code,
        failed=bool(failed),
        last_contact_age_s=age_s,
        silence_s=limit_s,
    )
    return Standing(run_id, project, state, heard, last_row)


def settled(
    before: int | None, without: Collection[int], project: str | None, limit: int
) -> list[int]:
    """Ids of the other runs, newest first; project None: of all. Cost: the rows of the page and
    those of `without` in between. -- uses the primary key or ix_run_project"""
    ours = "" if project is None else "AND project = %s"
    sql = f"""
        SELECT id FROM runs_run WHERE id < %s AND id <> ALL(%s) {ours} ORDER BY id DESC LIMIT %s
    """  # noqa: S608
    top = 2**62 if before is None else before
    named = [] if project is None else [project]
    return [run_id for (run_id,) in query(sql, [top, list(without), *named, limit])]
