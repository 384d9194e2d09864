"""Every statement about the sign of life of the alert worker."""

from __future__ import annotations

from apps.alerts.domain.deadman import DEFAULT_POLICY, DeadmanPolicy, Vital
from apps.alerts.domain.timing import ns
from apps.core.sql import execute, query

_WORKER = "worker"


def beat(now_ns: int) -> None:
    """The alert worker is alive."""
    execute(
        """
        INSERT INTO alerts_pulse (name, at_ns, claimed_until_ns) VALUES (%s, %s, 0)
        ON CONFLICT (name) DO UPDATE SET at_ns = greatest(alerts_pulse.at_ns, EXCLUDED.at_ns)
        """,
        (_WORKER, now_ns),
    )


def vital(now_ns: int, policy: DeadmanPolicy = DEFAULT_POLICY) -> Vital:
    """What the outbox and the sign of life tell. One statement. -- uses ix_notification_due"""
    sql = """
        SELECT (SELECT at_ns FROM alerts_pulse WHERE name = %s),
          count(*) FILTER (WHERE due_at_ns <= %s AND claimed_until_ns <= %s),
          min(due_at_ns) FILTER (WHERE due_at_ns <= %s AND claimed_until_ns <= %s),
          count(*) FILTER (WHERE refused), coalesce(max(error) FILTER (WHERE refused), '')
        FROM (
          SELECT due_at_ns, claimed_until_ns, error,
            error <> '' AND tries >= %s AND recipient NOT LIKE 'channel:%%' AS refused
          FROM alerts_notification WHERE status = 'pending'
        ) AS waiting
    """
    late = (now_ns - ns(policy.late_s), now_ns)
    ((beat_ns, number, oldest_ns, refused, answer),) = query(
        sql, (_WORKER, *late, *late, policy.tries)
    )
    return Vital(beat_ns, number, oldest_ns, refused, answer)


def claim_telling(now_ns: int, lease_ns: int) -> bool:
    """Whether this process is the one to tell of the present trouble: one does, once."""
    execute(
        "INSERT INTO alerts_pulse (name, at_ns, claimed_until_ns) VALUES (%s, %s, 0)"
        " ON CONFLICT DO NOTHING",
        (_WORKER, now_ns),
    )
    sql = """
        UPDATE alerts_pulse SET claimed_until_ns = %s
        WHERE name = %s AND told_at_ns IS NULL AND claimed_until_ns <= %s
    """
    return execute(sql, (now_ns + lease_ns, _WORKER, now_ns)) == 1


def told(now_ns: int) -> None:
    """People know of the present trouble."""
    execute(
        "UPDATE alerts_pulse SET told_at_ns = %s, claimed_until_ns = 0 WHERE name = %s",
        (now_ns, _WORKER),
    )


def well() -> bool:
    """There is no trouble any more; whether people had been told of one."""
    sql = "UPDATE alerts_pulse SET told_at_ns = NULL WHERE name = %s AND told_at_ns IS NOT NULL"
    return execute(sql, (_WORKER,)) == 1
