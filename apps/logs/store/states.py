"""States of the processes, and the mark that their attempt must be triaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from django.db import connection

from apps.logs.domain.ranks import RankState, SlotKey
from apps.logs.models import RankLog, Triage

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
_SETS = ", ".join(f"{name} = EXCLUDED.{name}" for name in _FIELDS[2:])
_SAVE = f"""
    INSERT INTO logs_ranklog (run_id, attempt, {", ".join(_FIELDS)})
    SELECT %s, %s, * FROM unnest({", ".join(f"%s::{_TYPES[name]}[]" for name in _FIELDS)})
    ON CONFLICT (run_id, attempt, node, slot) DO UPDATE SET {_SETS}
"""  # noqa: S608 - names of this module only


def load_states(run_id: int, attempt: int, node: str) -> dict[SlotKey, RankState]:
    """The processes of one node, locked until the transaction ends. -- uses the primary key"""
    rows = RankLog.objects.select_for_update().filter(run_id=run_id, attempt=attempt, node=node)
    return {(row.node, row.slot): state_of(row) for row in rows.order_by("slot")}


def state_of(row: RankLog) -> RankState:
    """One row as the pure state."""
    return RankState(**{name: getattr(row, name) for name in _FIELDS})


def save_states(run_id: int, attempt: int, states: Sequence[RankState]) -> None:
    """Adds or replaces states, one statement."""
    if not states:
        return
    columns = [[getattr(state, name) for state in states] for name in _FIELDS]
    with connection.cursor() as cursor:
        cursor.execute(_SAVE, [run_id, attempt, *columns])


def mark_dirty(run_id: int, attempt: int, *, new_events: bool, new_lines: bool) -> None:
    """Events open a triage; other lines matter only while one is open (they may be progress)."""
    if new_events:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO logs_triage (run_id, attempt, dirty, fingerprint, settled,"
                " taxonomy_version) VALUES (%s, %s, true, '', false, 0)"
                " ON CONFLICT (run_id, attempt) DO UPDATE SET dirty = true",
                [run_id, attempt],
            )
    elif new_lines:
        # -- uses the primary key
        Triage.objects.filter(run_id=run_id, attempt=attempt, dirty=False).exclude(
            fingerprint="", waiting_since_ns=None
        ).update(dirty=True)
