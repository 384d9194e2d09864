"""State and cursors of detectors, and notes about rows they have not seen."""

from __future__ import annotations

from dataclasses import dataclass

from apps.core.sql import execute, query, query_bytes
from apps.metrics.models import Detector

Span = tuple[int, int | None]
"""First and last step; None: to the end."""


@dataclass(frozen=True, slots=True)
class FreshRows:
    """Where new rows lie. job_from: step from which on there are some of the job, None: no new
    rows. ranks: first and last step of those of ranks (last None: to the end), None: no new rows.
    layers: the same of statistics of the model.
    """

    job_from: int | None
    ranks: Span | None
    layers: Span | None = None


@dataclass(frozen=True, slots=True)
class DetectorState:
    """state: what the detector stored, None before its first row. step: the last row it judged."""

    step: int | None
    state: bytes | None


def lock_detector(run_id: int, attempt: int, name: str) -> DetectorState:
    """The state of a detector, locked until the transaction ends: one judge at a time.

    One statement, three before its first row. -- uses the primary key
    """
    sql = (
        "SELECT step, state FROM metrics_detector WHERE run_id = %s AND attempt = %s AND name = %s"
        " FOR UPDATE"
    )
    rows = query_bytes(sql, [run_id, attempt, name])
    if not rows:
        execute(
            "INSERT INTO metrics_detector (run_id, attempt, name, step, state)"
            " VALUES (%s, %s, %s, NULL, '') ON CONFLICT DO NOTHING",
            [run_id, attempt, name],
        )
        rows = query_bytes(sql, [run_id, attempt, name])
    step, state = rows[0]
    return DetectorState(step, bytes(state) or None)


def detector_state(run_id: int, attempt: int, name: str) -> bytes | None:
    """What a detector stored, not locked; None if it never did. -- uses the primary key"""
    rows = Detector.objects.filter(run_id=run_id, attempt=attempt, name=name)
    found = rows.values_list("state", flat=True).first()
    return bytes(found) if found else None


def save_detector(run_id: int, attempt: int, name: str, state: DetectorState) -> None:
    """Stores the state of a locked detector."""
    execute(
        "UPDATE metrics_detector SET step = %s, state = %s"
        " WHERE run_id = %s AND attempt = %s AND name = %s",
        [state.step, state.state or b"", run_id, attempt, name],
    )


def take_fresh(run_id: int, attempt: int) -> FreshRows:
    """Takes the notes of committed writes away; they come back if the transaction fails.

    A write that commits later leaves its note for the next call.
    """
    rows = query(
        "DELETE FROM metrics_fresh WHERE run_id = %s AND attempt = %s"
        " RETURNING first_step, last_step, ranked, layers",
        [run_id, attempt],
    )
    job = _span([row[:2] for row in rows if not row[2] and not row[3]])
    return FreshRows(
        job_from=None if job is None else job[0],
        ranks=_span([row[:2] for row in rows if row[2]]),
        layers=_span([row[:2] for row in rows if row[3]]),
    )


def _span(notes: list[tuple[int, int | None]]) -> Span | None:
    if not notes:
        return None
    last = [last for _, last in notes if last is not None]
    return min(first for first, _ in notes), max(last) if len(last) == len(notes) else None
