"""Templates that attempts which ended well said too, by project."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from apps.core.sql import execute, query

MAX_ORDINARY = 20_000
"""Templates a project remembers; those no good attempt said for the longest time go first."""

_JUDGE = "INSERT INTO logs_judgedattempt (run_id, attempt) VALUES (%s, %s) ON CONFLICT DO NOTHING"
_ADD = """
    INSERT INTO logs_ordinarytemplate AS o (project, template_id, attempts, last_ns)
    SELECT %s, *, 1, %s FROM unnest(%s::int8[])
    ON CONFLICT (project, template_id) DO UPDATE SET
      attempts = o.attempts + 1, last_ns = greatest(o.last_ns, EXCLUDED.last_ns)
"""
# -- uses ix_ordinary_age
_DROP = """
    DELETE FROM logs_ordinarytemplate WHERE project = %s AND template_id IN (
      SELECT template_id FROM logs_ordinarytemplate WHERE project = %s
       ORDER BY last_ns DESC, template_id OFFSET %s)
"""


def unjudged(attempts: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """Those of these (run, attempt) that were not taken over yet. -- uses the primary key"""
    sql = """
        SELECT run_id, attempt FROM logs_judgedattempt
        WHERE (run_id, attempt) IN (SELECT * FROM unnest(%s::int8[], %s::int4[]))
    """
    runs, numbers = [run for run, _ in attempts], [number for _, number in attempts]
    return set(attempts) - {(run, number) for run, number in query(sql, [runs, numbers])}


def add_ordinary(
    project: str, run_id: int, attempt: int, ended_ns: int, templates: Collection[int]
) -> bool:
    """Takes over the templates of one attempt, once; in the caller's transaction.

    False if another process did.
    """
    if not execute(_JUDGE, [run_id, attempt]):
        return False
    execute(_ADD, [project, ended_ns, sorted(templates)])
    execute(_DROP, [project, project, MAX_ORDINARY])
    return True


def ordinary(project: str, templates: Collection[int]) -> set[int]:
    """Which of these templates are ordinary in the project. -- uses the primary key"""
    sql = """
        SELECT template_id FROM logs_ordinarytemplate
        WHERE project = %s AND template_id = ANY(%s::int8[])
    """
    return {template for (template,) in query(sql, [project, sorted(templates)])}
