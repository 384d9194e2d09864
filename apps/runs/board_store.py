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
    """How a run stands. started_ns, last_row_ns: of its newest attempt, its begin and the time of
    its newest row."""

    run_id: int
    project: str
    state: str
    heard_ns: int | None
    last_row_ns: int | None
    started_ns: int | None
    started_by: str
    owner: str


def watched_ids() -> list[int]:
    """Runs that may still change by themselves, newest first. -- uses ix_watched"""
    sql = "SELECT run_id FROM runs_contact WHERE watched ORDER BY run_id DESC LIMIT %s"
    return [run_id for (run_id,) in query(sql, [MAX_LIVE])]


def standings(run_ids: Collection[int], now_ns: int) -> list[Standing]:
    """The runs of these that there are. -- uses primary keys"""
    sql = """
        SELECT r.id, r.project, c.heard_ns, c.limit_s, w.looked_ns, w.judged_ns,
               a.exit_code, a.failed, a.last_row_ns, a.started_ns, r.started_by,
               r.owner
          FROM runs_run r
          LEFT JOIN runs_contact c ON c.run_id = r.id
          LEFT JOIN runs_watch w ON w.id = 1
          LEFT JOIN LATERAL (
            SELECT exit_code, failed, last_row_ns, started_ns FROM runs_attempt
             WHERE run_id = r.id ORDER BY number DESC LIMIT 1) a ON true
         WHERE r.id = ANY(%s)
    """
    return [_standing(row, now_ns) for row in query(sql, [list(run_ids)])]


def _standing(row: tuple[Any, ...], now_ns: int) -> Standing:
    run_id, project, heard, limit_s, looked, judged, exit_code, failed, *rest = row
    age_s = None
    if heard is not None:
        age_s = (now_ns - heard) / 1e9 - lag_s(now_ns, looked, judged)
    state = run_state(
        exit_code=exit_code,
        failed=bool(failed),
        last_contact_age_s=age_s,
        silence_s=limit_s,
    )
    return Standing(run_id, project, state, heard, *rest)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Whose runs a list shows. project, owner: None for all. owner: who has taken a run, or, where
    nobody has, who started it."""

    project: str | None = None
    owner: str | None = None

    def fits(self, one: Standing) -> bool:
        """Whether a run is of these."""
        owner = one.owner or one.started_by
        return self.project in (None, one.project) and self.owner in (None, owner)


def settled(before: int | None, without: Collection[int], wanted: Wanted, limit: int) -> list[int]:
    """Ids of the other runs, newest first. Cost: the rows of the page and those of `without` in
    between. -- uses the primary key, ix_run_project or ix_run_owner"""
    asked = {"project": wanted.project, "coalesce(nullif(owner, ''), started_by)": wanted.owner}
    narrow = {column: value for column, value in asked.items() if value is not None}
    ours = "".join(f" AND {column} = %s" for column in narrow)
    sql = f"""
        SELECT id FROM runs_run WHERE id < %s AND id <> ALL(%s){ours} ORDER BY id DESC LIMIT %s
    """  # noqa: S608
    top = 2**62 if before is None else before
    return [run_id for (run_id,) in query(sql, [top, list(without), *narrow.values(), limit])]
