"""What the first-failure rule reads, and where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from apps.core.sql import bigints, query
from apps.logs.domain.reading.segments import CONSOLE
from apps.logs.domain.triage.assemble import SKEW_NS, EventRow
from apps.logs.domain.triage.ranks import RankState
from apps.logs.domain.triage.settle import TriageState
from apps.logs.models import Triage
from apps.logs.store.reading import MAX_RANKS
from apps.logs.store.states import all_states

MAX_EVENTS = 10_000
MAX_SAMPLED = 200_000
FIRST_OF_A_CLASS = 3
_COLUMNS = (
    "time_ns, node, source_id, channel, seq, local_rank, rank, severity, text, message_at,"
    " fault_class, taxonomy"
)
_ALL = f"""
    SELECT {_COLUMNS} FROM logs_event
    WHERE run_id = %s AND attempt = %s AND time_ns >= %s ORDER BY time_ns DESC LIMIT %s
"""  # noqa: S608 - names of this module only
_SAMPLE = f"""
    WITH numbered AS (
        SELECT source_id, seq, row_number() OVER early AS at, count(*) OVER alike AS total,
               channel = '{CONSOLE}' AND local_rank IS NULL AND rank IS NULL AS of_agent
        FROM logs_event WHERE run_id = %s AND attempt = %s AND time_ns >= %s
        WINDOW alike AS (PARTITION BY node, local_rank, rank, fault_class, severity),
               early AS (alike ORDER BY time_ns, source_id, seq)
    )
    SELECT {_COLUMNS} FROM numbered JOIN logs_event USING (source_id, seq)
    WHERE run_id = %s AND (at <= {FIRST_OF_A_CLASS} OR at = total OR of_agent)
    ORDER BY at LIMIT %s
"""  # noqa: S608 - names of this module only

_NAMES = (
    "SELECT source_id, name FROM logs_source WHERE run_id = %s AND source_id = ANY(%s::bigint[])"
)


def take_triage(run_id: int, attempt: int) -> TriageState | None:
    """The state, locked until the transaction ends; None if nothing ever went wrong."""
    row = (
        Triage.objects.select_for_update()  # -- uses the primary key
        .filter(run_id=run_id, attempt=attempt)
        .first()
    )
    if row is None:
        return None
    return TriageState(
        dirty=row.dirty,
        waiting_since_ns=row.waiting_since_ns,
        confirmed_ns=row.confirmed_ns,
        changed_ns=row.changed_ns,
        look_again_ns=row.look_again_ns,
        fingerprint=row.fingerprint,
        settled=row.settled,
        taxonomy=row.taxonomy,
    )


def save_triage(run_id: int, attempt: int, state: TriageState) -> None:
    """Replaces the state that take_triage() locked."""
    Triage.objects.filter(run_id=run_id, attempt=attempt).update(**asdict(state))


def mark_again(run_ids: Sequence[int]) -> list[tuple[int, int]]:
    """The newest attempts of runs that have warnings or errors are to be judged again; (run,
    attempt) of those. -- uses the primary key"""
    sql = """
        UPDATE logs_triage t SET dirty = true
         WHERE run_id = ANY(%s) AND attempt = (
               SELECT max(attempt) FROM logs_triage n WHERE n.run_id = t.run_id)
        RETURNING run_id, attempt
    """
    return sorted(query(sql, [list(run_ids)]))


def look_again_ns(run_id: int, attempt: int) -> int | None:
    """When the attempt must be triaged again although nothing arrives."""
    found = Triage.objects.filter(run_id=run_id, attempt=attempt)
    return found.values_list("look_again_ns", flat=True).first()


def rank_states(run_id: int, attempt: int) -> list[RankState]:
    """All processes of an attempt. -- uses the primary key"""
    return all_states(run_id, attempt, MAX_RANKS)


def event_rows(
    run_id: int, attempt: int, states: Iterable[RankState], spread_ns: int = 0
) -> list[EventRow]:
    """Warnings and errors since the job's last step (less the clock tolerance).

    spread_ns: how far the clocks of two hosts are apart: so much earlier may a line be dated.

    All of them up to MAX_EVENTS. Of more, each process keeps the FIRST_OF_A_CLASS first lines and
    the last of each fault class: the first to fail says little, and early, among thousands that
    complain. Never more than MAX_SAMPLED: the first line of each class before any second one.

    -- uses ix_event_time and the primary key of sources
    """
    newest = max((s.progress_ns for s in states if s.progress_ns is not None), default=None)
    since_ns = 0 if newest is None else newest - SKEW_NS - spread_ns
    # Tuples, not objects: an error storm brings thousands of rows.
    events = query(_ALL, [run_id, attempt, since_ns, MAX_EVENTS + 1])
    if len(events) > MAX_EVENTS:
        events = query(_SAMPLE, [run_id, attempt, since_ns, run_id, MAX_SAMPLED])
    names = dict(query(_NAMES, [run_id, bigints({event[2] for event in events})]))
    return [
        EventRow(
            when, node, names.get(source, ""), channel, seq, local, rank, level, text[at:], *given
        )
        for when, node, source, channel, seq, local, rank, level, text, at, *given in events
    ]
