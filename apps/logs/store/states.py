"""States of the processes, and the mark that their attempt must be triaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from apps.core.sql import execute, query
from apps.logs.domain.triage.ranks import RankState, SlotKey

_FIELDS = tuple(field.name for field in fields(RankState))
_TYPES = {
    "node": "text",
    "slot": "text",
    "rank": "int4",
    "local_rank": "int4",
    "pid": "int8",
    "world_size": "int4",
    "lines": "int8",
    "copies": "int8",
    "worst_severity": "int2",
    "last_ns": "int8",
    "last_text": "text",
    "last_step": "int8",
    "progress_ns": "int8",
    "progress_source": "text",
    "progress_seq": "int8",
    "pace_ns": "int8",
}
_LOAD = f"""
    SELECT {", ".join(_FIELDS)} FROM logs_ranklog
    WHERE run_id = %s AND attempt = %s AND node = %s ORDER BY slot FOR UPDATE
"""  # noqa: S608 - names of this module only
_SETS = ", ".join(f"{name} = EXCLUDED.{name}" for name in _FIELDS[2:])
_SAVE = f"""
    INSERT INTO logs_ranklog (run_id, attempt, {", ".join(_FIELDS)})
    SELECT %s, %s, * FROM unnest({", ".join(f"%s::{_TYPES[name]}[]" for name in _FIELDS)})
    ON CONFLICT (run_id, attempt, node, slot) DO UPDATE SET {_SETS}
"""  # noqa: S608 - names of this module only
_MARK = """
    INSERT INTO logs_triage (run_id, attempt, dirty, fingerprint, settled, taxonomy)
    VALUES (%s, %s, true, '', false, '')
    ON CONFLICT (run_id, attempt) DO UPDATE SET dirty = true
"""
# -- uses the primary key
_MARK_OPEN = """
    UPDATE logs_triage SET dirty = true
    WHERE run_id = %s AND attempt = %s AND NOT dirty
      AND (fingerprint <> '' OR waiting_since_ns IS NOT NULL)
"""


def load_states(run_id: int, attempt: int, node: str) -> dict[SlotKey, RankState]:
    """The processes of one node, locked until the transaction ends. -- uses the primary key"""
    states = [RankState(*row) for row in query(_LOAD, [run_id, attempt, node])]
    return {(state.node, state.slot): state for state in states}


def all_states(run_id: int, attempt: int, limit: int) -> list[RankState]:
    """The processes of an attempt, by node and slot. Tuples, not objects: a job has thousands.

    -- uses the primary key
    """
    sql = f"""
        SELECT {", ".join(_FIELDS)} FROM logs_ranklog
        WHERE run_id = %s AND attempt = %s ORDER BY node, slot LIMIT %s
    """  # noqa: S608 - names of this module only
    return [RankState(*row) for row in query(sql, [run_id, attempt, limit])]


def save_states(run_id: int, attempt: int, states: Sequence[RankState]) -> None:
    """Adds or replaces states, one statement."""
    if not states:
        return
    columns = [[getattr(state, name) for state in states] for name in _FIELDS]
    execute(_SAVE, [run_id, attempt, *columns])


def mark_dirty(run_id: int, attempt: int, *, new_events: bool, new_lines: bool) -> None:
    """Events open a triage; other lines matter only while one is open (they may be progress)."""
    if new_events or new_lines:
        execute(_MARK if new_events else _MARK_OPEN, [run_id, attempt])
