"""The glances that the list of runs reads: one row a run."""

from __future__ import annotations

from collections.abc import Collection

from apps.core.sql import execute, query
from apps.metrics.domain.glance import Glance

_COLUMNS = "attempt, loss, spark, nonfinite, tokens_s, usual_tokens_s"


def stale_glances(limit: int) -> list[tuple[int, int, int]]:
    """(run_id, newest attempt, heard_ns) of runs that were heard of since their glance.

    Watched ones first, of them those without a glance and then the oldest glances: each has its
    turn, however many there are. Cost: one comparison a run, one look-up a run that has changed.
    """
    sql = """
        SELECT c.run_id, a.number, c.heard_ns FROM (
            SELECT c.run_id, c.heard_ns FROM runs_contact c
              LEFT JOIN metrics_glance g ON g.run_id = c.run_id
             WHERE g.heard_ns IS DISTINCT FROM c.heard_ns
               AND EXISTS (SELECT 1 FROM runs_attempt WHERE run_id = c.run_id)
             ORDER BY c.watched DESC, g.heard_ns NULLS FIRST, c.heard_ns DESC LIMIT %s) c
          JOIN LATERAL (SELECT number FROM runs_attempt WHERE run_id = c.run_id
                         ORDER BY number DESC LIMIT 1) a ON true
    """
    return [(run_id, number, heard_ns) for run_id, number, heard_ns in query(sql, [limit])]


def save_glance(run_id: int, heard_ns: int, glance: Glance) -> None:
    """The glance of a run as of heard_ns, in place of an older one."""
    sql = f"""
        INSERT INTO metrics_glance (run_id, heard_ns, {_COLUMNS})
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (run_id) DO UPDATE SET
          heard_ns = EXCLUDED.heard_ns, attempt = EXCLUDED.attempt, loss = EXCLUDED.loss,
          spark = EXCLUDED.spark, nonfinite = EXCLUDED.nonfinite, tokens_s = EXCLUDED.tokens_s,
          usual_tokens_s = EXCLUDED.usual_tokens_s
    """  # noqa: S608
    values = [
        run_id, heard_ns, glance.attempt, glance.loss, list(glance.spark), glance.nonfinite,
        glance.tokens_s, glance.usual_tokens_s,
    ]  # fmt: skip
    execute(sql, values)


def glances(run_ids: Collection[int]) -> dict[int, Glance]:
    """run id -> its glance, of those that have one. -- uses the primary key"""
    sql = f"""
        SELECT run_id, {_COLUMNS}, goodput FROM metrics_glance WHERE run_id = ANY(%s)
    """  # noqa: S608
    return {
        run_id: Glance(attempt, loss, tuple(spark), *rest)
        for run_id, attempt, loss, spark, *rest in query(sql, [list(run_ids)])
    }


def stale_goodputs(before_ns: int, heard_after_ns: int, limit: int) -> list[int]:
    """Watched runs whose goodput is from before a time, and runs heard of after another one whose
    goodput is not known, these first. Cost: one comparison a run."""
    sql = """
        SELECT g.run_id FROM runs_contact c JOIN metrics_glance g ON g.run_id = c.run_id
         WHERE (c.watched AND g.goodput_ns < %s) OR (g.goodput_ns IS NULL AND c.heard_ns > %s)
         ORDER BY g.goodput_ns NULLS FIRST, g.run_id DESC LIMIT %s
    """
    return [run_id for (run_id,) in query(sql, [before_ns, heard_after_ns, limit])]


def save_goodput(run_id: int, goodput: float | None, at_ns: int) -> None:
    """The goodput of the last 24 hours, computed at a time."""
    execute(
        "UPDATE metrics_glance SET goodput = %s, goodput_ns = %s WHERE run_id = %s",
        [goodput, at_ns, run_id],
    )
