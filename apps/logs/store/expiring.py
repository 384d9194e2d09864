"""What retention needs to know, and what it deletes: short transactions, oldest lines first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import transaction

from apps.core.sql import execute, query
from apps.logs.domain.chunk.retention import Cut, KeepRule
from apps.logs.models import Deleted, Pin
from apps.logs.models import KeepRule as RuleRow
from apps.logs.store.chunkrows import delete_chunks, lock_chunks

CHUNKS_AT_ONCE = 200
EVENTS_AT_ONCE = 5_000
HOUR_NS = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class SaidRule:
    """A rule as people said it. changed_at_ns 0: nobody did, the settings count."""

    rule: KeepRule
    changed_by: str = ""
    changed_at_ns: int = 0


@dataclass(frozen=True, slots=True)
class DeletedLogs:
    """What retention has deleted of one attempt. before_ns: time of the newest line that went."""

    attempt: int
    lines: int
    size_bytes: int
    before_ns: int
    deleted_at_ns: int


@dataclass(frozen=True, slots=True)
class Stored:
    """Chunks of one attempt. old_*: of those that end before the cutoff."""

    run_id: int
    attempt: int
    last_ns: int
    lines: int
    size_bytes: int
    old_lines: int
    old_bytes: int


def said_rule(project: str) -> SaidRule | None:
    """The project's own rule; None if nobody said one. -- uses the primary key"""
    row = RuleRow.objects.filter(project=project).first()
    return _said(row) if row else None


def said_rules(limit: int = 1_000) -> list[tuple[str, SaidRule]]:
    """(project, its own rule) of those that have one, by name. -- uses the primary key"""
    return [(row.project, _said(row)) for row in RuleRow.objects.order_by("project")[:limit]]


def _said(row: RuleRow) -> SaidRule:
    return SaidRule(KeepRule(row.days, row.most_bytes), row.changed_by, row.changed_at_ns)


def save_rule(project: str, rule: KeepRule | None, by: str, now_ns: int) -> None:
    """Keeps what was said; None: the settings count again."""
    if rule is None:
        RuleRow.objects.filter(project=project).delete()
        return
    RuleRow.objects.update_or_create(
        project=project,
        defaults={
            "days": rule.days,
            "most_bytes": rule.most_bytes,
            "changed_by": by,
            "changed_at_ns": now_ns,
        },
    )


def pins(run_ids: Sequence[int]) -> set[tuple[int, int]]:
    """(run, attempt) that are pinned. -- uses the primary key"""
    return set(Pin.objects.filter(run_id__in=run_ids).values_list("run_id", "attempt"))


def save_pin(run_id: int, attempt: int, by: str, now_ns: int, *, pinned: bool) -> bool:
    """Pins an attempt, or lets it go; whether that changed anything."""
    if pinned:
        made = {"pinned_by": by, "pinned_at_ns": now_ns}
        return Pin.objects.get_or_create(run_id=run_id, attempt=attempt, defaults=made)[1]
    return Pin.objects.filter(run_id=run_id, attempt=attempt).delete()[0] > 0


def stored(run_ids: Sequence[int], cutoff_ns: int | None) -> list[Stored]:
    """What is held of each attempt of these runs. -- scans their chunk rows by the primary key"""
    sql = """
        SELECT run_id, attempt, max(last_ns), sum(lines), sum(size_bytes),
          coalesce(sum(lines) FILTER (WHERE last_ns < %s), 0),
          coalesce(sum(size_bytes) FILTER (WHERE last_ns < %s), 0)
        FROM logs_chunk WHERE run_id = ANY(%s) GROUP BY run_id, attempt
    """
    rows = query(sql, [cutoff_ns, cutoff_ns, list(run_ids)])
    return [Stored(run_id, attempt, *map(int, rest)) for run_id, attempt, *rest in rows]


def deleted(run_id: int) -> list[DeletedLogs]:
    """What is gone of a run, by attempt. -- uses the primary key"""
    rows = Deleted.objects.filter(run_id=run_id).order_by("attempt")
    return [
        DeletedLogs(row.attempt, row.lines, row.size_bytes, row.before_ns, row.deleted_at_ns)
        for row in rows[:1_000]
    ]


@dataclass(frozen=True, slots=True)
class _Oldest:
    """The oldest chunks of a cut. before_ns: time of their newest line."""

    chunk_ids: tuple[int, ...]
    lines: int
    size_bytes: int
    before_ns: int


def carry_out(cut: Cut, now_ns: int) -> Iterator[tuple[int, int]]:
    """Deletes what a cut says; (lines, bytes) of each short transaction, as it commits.

    What stands beside the lines (rows of warnings and errors, counts) goes first, so that a kill
    in between leaves nothing that no later call finds.
    """
    left = cut.free_bytes
    while (left is None or left > 0) and (oldest := _oldest(cut, left)).chunk_ids:
        _delete_beside(cut, oldest.before_ns)
        with transaction.atomic():
            lock_chunks(cut.run_id, wait=True)
            oldest = _oldest(cut, left)  # they may have been merged meanwhile
            delete_chunks(cut.run_id, oldest.chunk_ids)
            _note_deleted(cut, oldest, now_ns)
        left = None if left is None else left - oldest.size_bytes
        yield oldest.lines, oldest.size_bytes


def _oldest(cut: Cut, free_bytes: int | None) -> _Oldest:
    """-- uses ix_chunk_last"""
    sql = """
        SELECT chunk_id, lines, size_bytes, last_ns FROM logs_chunk
         WHERE run_id = %s AND attempt = %s AND (%s::int8 IS NULL OR last_ns < %s)
         ORDER BY last_ns, chunk_id LIMIT %s
    """
    params = [cut.run_id, cut.attempt, cut.before_ns, cut.before_ns, CHUNKS_AT_ONCE]
    chosen: list[int] = []
    lines = size = before_ns = 0
    for chunk_id, chunk_lines, chunk_bytes, last_ns in query(sql, params):
        if free_bytes is not None and size >= free_bytes:
            break
        chosen.append(chunk_id)
        lines, size, before_ns = lines + chunk_lines, size + chunk_bytes, last_ns
    return _Oldest(tuple(chosen), lines, size, before_ns)


def _note_deleted(cut: Cut, gone: _Oldest, now_ns: int) -> None:
    sql = """
        INSERT INTO logs_deleted (run_id, attempt, lines, size_bytes, before_ns, deleted_at_ns)
        VALUES (%s, %s, %s, %s, %s, %s)
        ON CONFLICT (run_id, attempt) DO UPDATE SET
          lines = logs_deleted.lines + EXCLUDED.lines,
          size_bytes = logs_deleted.size_bytes + EXCLUDED.size_bytes,
          before_ns = greatest(logs_deleted.before_ns, EXCLUDED.before_ns),
          deleted_at_ns = EXCLUDED.deleted_at_ns
    """
    place = [cut.run_id, cut.attempt]
    execute(sql, [*place, gone.lines, gone.size_bytes, gone.before_ns, now_ns])


def _delete_beside(cut: Cut, before_ns: int) -> None:
    """Rows of warnings and errors up to a time, and counts (by minute, by template) of the hours
    that end before it.

    -- uses ix_event_time and the primary keys
    """
    events = """
        DELETE FROM logs_event WHERE run_id = %s AND (source_id, seq) IN (
          SELECT source_id, seq FROM logs_event
           WHERE run_id = %s AND attempt = %s AND time_ns <= %s LIMIT %s)
    """
    place = [cut.run_id, cut.attempt, before_ns]
    while execute(events, [cut.run_id, *place, EVENTS_AT_ONCE]) == EVENTS_AT_ONCE:
        pass
    hours = "DELETE FROM logs_pulsehour WHERE run_id = %s AND attempt = %s AND hour < %s"
    tallies = "DELETE FROM logs_templatetally WHERE run_id = %s AND attempt = %s AND last_hour < %s"
    for sql in (hours, tallies):
        execute(sql, [cut.run_id, cut.attempt, before_ns // HOUR_NS])
