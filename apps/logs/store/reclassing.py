"""Attempts whose stored warnings and errors get the newest fault classes, and how far that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.sql import execute, query
from apps.logs.models import Reclassing

_COLUMNS = "run_id, attempt, taxonomy, since_ns, time_ns, source_id, seq, done, total"
_AT_FIRST = -(2**63)
_ASK = """
    INSERT INTO logs_reclassing
      (run_id, attempt, taxonomy, since_ns, time_ns, source_id, seq, done)
    VALUES (%s, %s, %s, %s, %s, -1, -1, 0) ON CONFLICT DO NOTHING
"""
_OTHERS = """
    FROM logs_event WHERE run_id = %s AND attempt = %s AND time_ns >= %s AND taxonomy <> %s
"""
_GIVE = """
    UPDATE logs_event e SET fault_class = g.fault, taxonomy = %s
      FROM unnest(%s::int8[], %s::int8[], %s::text[]) AS g(source_id, seq, fault)
     WHERE e.run_id = %s AND e.source_id = g.source_id AND e.seq = g.seq
"""


@dataclass(frozen=True, slots=True)
class Work:
    """One attempt. taxonomy: the label that its lines since a time are to get. time_ns, source_id,
    seq: of the last line that was looked at, in this order. total: None before the first slice."""

    run_id: int
    attempt: int
    taxonomy: str
    since_ns: int
    time_ns: int
    source_id: int
    seq: int
    done: int
    total: int | None

    def again(self, taxonomy: str) -> Work:
        """The same from the first line on, since the classes have changed again."""
        return Work(self.run_id, self.attempt, taxonomy, self.since_ns, _AT_FIRST, -1, -1, 0, None)


@dataclass(frozen=True, slots=True)
class OldLine:
    """A stored line with classes of another version."""

    time_ns: int
    source_id: int
    seq: int
    message: str


def ask_reclassing(run_id: int, attempt: int, taxonomy: str, since_ns: int) -> bool:
    """The lines of an attempt since a time are to get the classes of a version; whether that is
    news. -- uses the primary key"""
    return execute(_ASK, [run_id, attempt, taxonomy, since_ns, _AT_FIRST]) > 0


def take_reclassing() -> Work | None:
    """An attempt that waits for it, locked until the transaction ends, that with the fewest lines
    done first. What another process is at is left to it."""
    sql = f"""
        SELECT {_COLUMNS} FROM logs_reclassing ORDER BY done, run_id, attempt LIMIT 1
           FOR UPDATE SKIP LOCKED
    """  # noqa: S608 - names of this module only
    return next((Work(*row) for row in query(sql)), None)


def count_others(work: Work) -> int:
    """Lines that have other classes. -- uses ix_event_time"""
    place = [work.run_id, work.attempt, work.since_ns, work.taxonomy]
    ((count,),) = query(f"SELECT count(*) {_OTHERS}", place)
    return int(count)


def other_lines(work: Work, limit: int) -> list[OldLine]:
    """The next lines that have other classes, oldest first. -- uses ix_event_time"""
    sql = f"""
        SELECT time_ns, source_id, seq, substr(text, message_at + 1) {_OTHERS}
           AND (time_ns, source_id, seq) > (%s, %s, %s)
         ORDER BY time_ns, source_id, seq LIMIT %s
    """
    place = [work.run_id, work.attempt, work.since_ns, work.taxonomy]
    return [
        OldLine(*row) for row in query(sql, [*place, work.time_ns, work.source_id, work.seq, limit])
    ]


def give_classes(work: Work, lines: Sequence[OldLine], faults: Sequence[str | None]) -> None:
    """Stores the classes of lines. -- uses the primary key"""
    of_lines = [line.source_id for line in lines], [line.seq for line in lines], list(faults)
    execute(_GIVE, [work.taxonomy, *of_lines, work.run_id])


def save_reclassing(work: Work) -> None:
    """How far an attempt is. The caller has taken it."""
    Reclassing.objects.filter(run_id=work.run_id, attempt=work.attempt).update(
        taxonomy=work.taxonomy,
        time_ns=work.time_ns,
        source_id=work.source_id,
        seq=work.seq,
        done=work.done,
        total=work.total,
    )


def end_reclassing(work: Work) -> None:
    """All lines of an attempt have the classes: its verdict is to be judged again."""
    # In this order: who judges holds the verdict and may ask for the next version meanwhile, which
    # waits for a row that is being deleted.
    execute(
        "UPDATE logs_triage SET dirty = true WHERE run_id = %s AND attempt = %s",
        [work.run_id, work.attempt],
    )
    Reclassing.objects.filter(run_id=work.run_id, attempt=work.attempt).delete()


def reclassings(project: str, limit: int) -> list[tuple[str, int, int, int | None]]:
    """(run, attempt, lines that have the newest classes, of how many) of what waits in a project,
    the newest run first."""
    sql = """
        SELECT u.key, r.attempt, r.done, r.total FROM logs_reclassing r
          JOIN runs_run u ON u.id = r.run_id
         WHERE u.project = %s ORDER BY r.run_id DESC, r.attempt DESC LIMIT %s
    """
    return [
        (key, attempt, done, total) for key, attempt, done, total in query(sql, [project, limit])
    ]
