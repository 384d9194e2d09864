"""Runs and projects by a part of their name, within a bound."""

from __future__ import annotations

from apps.core.sql import query

LOOKED_AT = 5_000
"""So many of the newest runs are looked at for a text inside their key, project or W&B name."""


def _like(text: str) -> str:
    """The text as a pattern of LIKE that means itself."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def find_runs(text: str, limit: int) -> list[tuple[str, str]]:
    """(key, project): keys that begin with the text first, then the newest that hold it anywhere,
    whatever their case. Cost: one range of the unique key and LOOKED_AT rows of the primary key.

    -- uses the pattern index of key, the primary key
    """
    sql = """
        SELECT key, project FROM (
          (SELECT key, project, 0 AS place, id FROM runs_run
            WHERE key LIKE %s ORDER BY key LIMIT %s)
          UNION ALL
          (SELECT key, project, 1, id FROM
             (SELECT key, project, id, config ->> 'wandb/name' AS named FROM runs_run
               ORDER BY id DESC LIMIT %s) AS newest
            WHERE key ILIKE %s OR project ILIKE %s OR named ILIKE %s ORDER BY id DESC LIMIT %s)
        ) AS found ORDER BY place, id DESC
    """
    begins, holds = f"{_like(text)}%", f"%{_like(text)}%"
    rows = query(sql, [begins, limit, LOOKED_AT, holds, holds, holds, limit])
    return list({key: (key, project) for key, project in rows}.values())[:limit]


def find_projects(text: str, limit: int) -> list[str]:
    """Names of projects that hold the text, by name; runs without a project have none.

    Cost: one step of the index for each project, not for each run. -- uses ix_run_project
    """
    sql = """
        WITH RECURSIVE named AS (
          (SELECT project FROM runs_run WHERE project > '' ORDER BY project LIMIT 1)
          UNION ALL
          SELECT (SELECT project FROM runs_run WHERE project > named.project
                   ORDER BY project LIMIT 1)
            FROM named WHERE named.project IS NOT NULL)
        SELECT project FROM named WHERE project ILIKE %s LIMIT %s
    """
    return [project for (project,) in query(sql, [f"%{_like(text)}%", limit])]
