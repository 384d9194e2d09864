"""Every statement against the tables of the watch: when runs were heard of, and what was told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from apps.core.sql import execute, query
from apps.runs.domain.contact import Look, Rhythm, Silence, WatchClock

MAX_WATCHED = 20_000


@dataclass(frozen=True, slots=True)
class Watched:
    """A run that is watched. look, rhythm: see domain/contact.py. limit_s: as it was stored. told:
    key -> severity of the open findings of the watch. attempt: the newest; first_step and
    started_ns are its own."""

    run_id: int
    key: str
    attempt: int
    first_step: int | None
    started_ns: int
    look: Look
    rhythm: Rhythm
    limit_s: float | None
    told: Mapping[str, str]


_WATCHED = """
    SELECT c.run_id, r.key, a.number, a.first_step, a.started_ns,
           c.heard_ns, c.contacts, a.last_step, a.last_ns,
           a.last_row_ns IS NOT NULL, a.exit_code IS NOT NULL OR a.failed,
           c.rhythm, c.limit_s, c.told
      FROM runs_contact c JOIN runs_run r ON r.id = c.run_id
      JOIN LATERAL (SELECT * FROM runs_attempt WHERE run_id = c.run_id
                     ORDER BY number DESC LIMIT 1) a ON true
"""


def note(run_id: int, heard_ns: int) -> None:
    """Something of the run was received at heard_ns; it is watched from here on.

    In a transaction that holds the run's row, as whoever writes for it does.
    """
    execute(
        "INSERT INTO runs_contact (run_id, heard_ns, contacts, watched, rhythm, told)"
        " VALUES (%s, %s, 1, true, '{}', '{}') ON CONFLICT (run_id) DO UPDATE SET"
        " heard_ns = GREATEST(runs_contact.heard_ns, EXCLUDED.heard_ns),"
        " contacts = runs_contact.contacts"
        "   + (EXCLUDED.heard_ns > runs_contact.heard_ns)::int, watched = true",
        [run_id, heard_ns],
    )


def note_start(run_id: int, heard_ns: int) -> None:
    """A further start of the run was announced; of the first one nothing was received yet."""
    execute(
        "UPDATE runs_contact SET heard_ns = GREATEST(heard_ns, %s), contacts = contacts + 1,"
        " watched = true WHERE run_id = %s",
        [heard_ns, run_id],
    )


def watched() -> list[Watched]:
    """The watched runs, at most MAX_WATCHED. -- uses ix_watched, primary keys"""
    sql = f"{_WATCHED} WHERE c.watched ORDER BY c.run_id LIMIT %s"
    return [_row(row) for row in query(sql, [MAX_WATCHED])]


def watched_run(run_id: int) -> Watched | None:
    """One of them. The caller holds the run's row. -- uses the primary keys"""
    return next((_row(row) for row in query(f"{_WATCHED} WHERE c.run_id = %s", [run_id])), None)


def _row(row: tuple[Any, ...]) -> Watched:
    run_id, key, attempt, first_step, started_ns, *look, rhythm, limit_s, told = row
    known = msgspec.convert(_read(rhythm), Rhythm)
    return Watched(
        run_id, key, attempt, first_step, started_ns, Look(*look), known, limit_s, _read(told)
    )


def _read(value: Any) -> Any:
    """A JSON column: Django leaves it as text in plain statements."""
    return json.loads(value) if isinstance(value, str) else value


def save_rhythms(learned: Iterable[tuple[int, Rhythm, Silence]]) -> None:
    """What one watch has learned, in one statement. Only a watch writes it, one at a time.

    A run that is being written for right now is left out: a writer must not wait for this, nor this
    for a writer. The next look learns it.
    """
    rows = [
        (run_id, msgspec.json.encode(rhythm).decode(), silence.limit_s, silence.usual_s)
        for run_id, rhythm, silence in learned
    ]
    if rows:
        execute(
            "UPDATE runs_contact c SET rhythm = n.rhythm, limit_s = n.limit_s, usual_s = n.usual_s"
            " FROM unnest(%s::bigint[], %s::jsonb[], %s::float8[], %s::float8[])"
            "   AS n (run_id, rhythm, limit_s, usual_s)"
            " JOIN (SELECT run_id FROM runs_contact WHERE run_id = ANY(%s) ORDER BY run_id"
            "        FOR UPDATE SKIP LOCKED) AS free USING (run_id)"
            " WHERE c.run_id = n.run_id",
            [*(list(column) for column in zip(*rows, strict=True)), [row[0] for row in rows]],
        )


def save_told(run_id: int, told: Mapping[str, str]) -> None:
    """What is open now. The caller holds the run's row."""
    execute("UPDATE runs_contact SET told = %s WHERE run_id = %s", [json.dumps(told), run_id])


def look_away(heard: Mapping[int, int]) -> None:
    """These are not watched until something is heard again. heard: run id -> its heard_ns; one that
    was heard of meanwhile, or is being written for, stays watched."""
    execute(
        "UPDATE runs_contact SET watched = false WHERE run_id IN ("
        " SELECT c.run_id FROM runs_contact c"
        "   JOIN unnest(%s::bigint[], %s::bigint[]) AS n (run_id, heard_ns)"
        "     ON c.run_id = n.run_id AND c.heard_ns = n.heard_ns"
        "  ORDER BY c.run_id FOR UPDATE OF c SKIP LOCKED)",
        [list(heard), list(heard.values())],
    )


def last_look() -> tuple[int | None, int]:
    """(when the watch looked last, since when it has missed no look), locked until the transaction
    ends: one watch at a time."""
    rows = query("SELECT looked_ns, resumed_ns FROM runs_watch WHERE id = 1 FOR UPDATE")
    return rows[0] if rows else (None, 0)


def save_look(now_ns: int, clock: WatchClock) -> None:
    """The watch looks now."""
    execute(
        "INSERT INTO runs_watch (id, looked_ns, resumed_ns, judged_ns) VALUES (1, %s, %s, %s)"
        " ON CONFLICT (id) DO UPDATE SET looked_ns = EXCLUDED.looked_ns,"
        " resumed_ns = EXCLUDED.resumed_ns, judged_ns = EXCLUDED.judged_ns",
        [now_ns, clock.resumed_ns, clock.judged_ns],
    )
