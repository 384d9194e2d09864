"""Statements about hosts: which attempts they took part in, and who took over their ranks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from apps.core.sql import query

MAX_PARTS = 500
MAX_RUNNING = 200


@dataclass(frozen=True, slots=True)
class Part:
    """A host's part in one attempt. ranks, devices: ascending by rank; devices as far as known."""

    run_id: int
    run: str
    attempt: int
    started_ns: int
    last_ns: int | None
    exit_code: int | None
    failed: bool
    newest: bool
    ranks: tuple[int, ...]
    devices: tuple[str, ...]

    @property
    def state(self) -> str:
        """failed, finished, stopped, ended or running, as of `AttemptInfo`."""
        if self.failed:
            return "failed"
        if not self.newest:
            return "ended"
        if self.exit_code is None:
            return "running"
        return "stopped" if self.exit_code else "finished"


@dataclass(frozen=True, slots=True)
class Attendance:
    """How many attempts and runs since a time a host took part in. last_ns: when one of all its
    attempts was heard of last, None if it never took part in one."""

    attempts: int = 0
    runs: int = 0
    last_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Running:
    """A host's part in an attempt that runs. ranks: how many, with the lowest and the highest."""

    run_id: int
    run: str
    attempt: int
    ranks: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Handed:
    """Ranks of a host that were elsewhere in the attempt after (later) or before one of its own.

    stayed: whether the host itself is in that other attempt.
    """

    run_id: int
    run: str
    attempt: int
    other_attempt: int
    other: str
    ranks: tuple[int, ...]
    later: bool
    stayed: bool


def attendance(nodes: Collection[str], since_ns: int) -> dict[str, Attendance]:
    """node -> what it took part in, of the hosts that ever did. -- uses ix_placement_node"""
    sql = """
        SELECT d.node,
               count(*) FILTER (WHERE greatest(a.started_ns, a.last_ns) >= %s),
               count(DISTINCT d.run_id) FILTER (WHERE greatest(a.started_ns, a.last_ns) >= %s),
               max(greatest(a.started_ns, a.last_ns))
          FROM (SELECT DISTINCT node, run_id, attempt FROM runs_placement WHERE node = ANY(%s)) d
          JOIN runs_attempt a ON a.run_id = d.run_id AND a.number = d.attempt
         GROUP BY d.node
    """
    rows = query(sql, [since_ns, since_ns, list(nodes)])
    return {node: Attendance(*told) for node, *told in rows}


def running(nodes: Collection[str], heard_since_ns: int) -> dict[str, list[Running]]:
    """node -> the attempts it runs in: the newest of runs that were heard of since a time and have
    neither ended nor failed, at most MAX_RUNNING. -- uses ix_placement_node"""
    sql = """
        WITH live AS (
          SELECT a.run_id, a.number, r.key
            FROM runs_contact c
            JOIN runs_run r ON r.id = c.run_id
            JOIN LATERAL (SELECT * FROM runs_attempt WHERE run_id = c.run_id
                           ORDER BY number DESC LIMIT 1) a ON true
           WHERE c.heard_ns >= %s AND a.exit_code IS NULL AND NOT a.failed
           ORDER BY c.heard_ns DESC LIMIT %s
        )
        SELECT p.node, l.run_id, l.key, l.number, count(*), min(p.rank), max(p.rank)
          FROM live l JOIN runs_placement p
            ON p.node = ANY(%s) AND p.run_id = l.run_id AND p.attempt = l.number
         GROUP BY p.node, l.run_id, l.key, l.number ORDER BY l.run_id DESC
    """
    found: dict[str, list[Running]] = {}
    for node, *told in query(sql, [heard_since_ns, MAX_RUNNING, list(nodes)]):
        found.setdefault(node, []).append(Running(*told))
    return found


def hosts_of_attempt(run_id: int, attempt: int) -> list[str]:
    """The hosts of one attempt, by name. -- uses the primary key"""
    sql = """
        SELECT DISTINCT node FROM runs_placement WHERE run_id = %s AND attempt = %s ORDER BY node
    """
    return [node for (node,) in query(sql, [run_id, attempt])]


def hosts_of_run(run_id: int) -> list[str]:
    """The hosts of all attempts of a run, by name. Cost: every rank of each is read, no rank is
    sent. -- uses the primary key"""
    sql = "SELECT DISTINCT node FROM runs_placement WHERE run_id = %s ORDER BY node"
    return [node for (node,) in query(sql, [run_id])]


def parts(node: str, before: tuple[int, int, int], limit: int) -> list[Part]:
    """The newest attempts of a host before a (start, run, attempt), newest first.

    -- uses ix_placement_node
    """
    sql = """
        SELECT a.run_id, (SELECT key FROM runs_run WHERE id = a.run_id), a.number,
               a.started_ns, a.last_ns, a.exit_code, a.failed,
               a.number = (SELECT max(number) FROM runs_attempt WHERE run_id = a.run_id),
               p.ranks, p.devices
          FROM (SELECT run_id, attempt, array_agg(rank ORDER BY rank) AS ranks,
                       array_agg(device ORDER BY rank) FILTER (WHERE device <> '') AS devices
                  FROM runs_placement WHERE node = %s GROUP BY run_id, attempt) p
          JOIN runs_attempt a ON a.run_id = p.run_id AND a.number = p.attempt
         WHERE (a.started_ns, a.run_id, a.number) < (%s, %s, %s)
         ORDER BY a.started_ns DESC, a.run_id DESC, a.number DESC LIMIT %s
    """
    rows = query(sql, [node, *before, min(limit, MAX_PARTS)])
    return [Part(*[*told, tuple(ranks), tuple(devices or ())]) for *told, ranks, devices in rows]


def handed(node: str, attempts: Sequence[tuple[int, int]]) -> list[Handed]:
    """Who had the host's ranks in the attempts next to some (run, attempt) of it, by name.

    -- uses ix_placement_node and the primary keys
    """
    sql = """
        WITH own AS (
          SELECT p.run_id, p.attempt, p.rank, o.number AS other, o.number > p.attempt AS later
            FROM (SELECT * FROM unnest(%s::bigint[], %s::int[]) AS w(run_id, attempt)) w
            JOIN runs_placement p
              ON p.node = %s AND p.run_id = w.run_id AND p.attempt = w.attempt
            JOIN LATERAL (
              (SELECT number FROM runs_attempt
                WHERE run_id = p.run_id AND number > p.attempt ORDER BY number LIMIT 1)
              UNION ALL
              (SELECT number FROM runs_attempt
                WHERE run_id = p.run_id AND number < p.attempt ORDER BY number DESC LIMIT 1)
            ) o ON true
        )
        SELECT own.run_id, r.key, own.attempt, own.other, q.node,
               array_agg(own.rank ORDER BY own.rank), own.later,
               EXISTS (SELECT 1 FROM runs_placement s WHERE s.node = %s
                        AND s.run_id = own.run_id AND s.attempt = own.other)
          FROM own JOIN runs_run r ON r.id = own.run_id
          JOIN runs_placement q
            ON q.run_id = own.run_id AND q.attempt = own.other AND q.rank = own.rank
         WHERE q.node <> %s
         GROUP BY own.run_id, r.key, own.attempt, own.other, q.node, own.later
         ORDER BY own.run_id DESC, own.attempt DESC, own.later DESC, q.node
         LIMIT 500
    """
    wanted = [run for run, _ in attempts], [number for _, number in attempts]
    rows = query(sql, [*wanted, node, node, node])
    return [Handed(*[*told, tuple(ranks), later, stayed]) for *told, ranks, later, stayed in rows]


def ranks_by_host(run_id: int, attempts: Sequence[int]) -> Mapping[int, dict[str, list[int]]]:
    """attempt -> node -> its ranks, ascending; attempts without a placement are left out.

    One statement; it reads every rank of these attempts once. -- uses the primary key
    """
    sql = """
        SELECT attempt, node, array_agg(rank ORDER BY rank) FROM runs_placement
         WHERE run_id = %s AND attempt = ANY(%s) GROUP BY attempt, node
    """
    found: dict[int, dict[str, list[int]]] = {}
    for attempt, node, ranks in query(sql, [run_id, list(attempts)]):
        found.setdefault(attempt, {})[node] = ranks
    return found
