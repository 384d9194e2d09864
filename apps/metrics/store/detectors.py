"""State and cursors of detectors, and notes about rows they have not seen."""

from __future__ import annotations

from dataclasses import dataclass

from apps.core.sql import execute, query
from apps.metrics.models import Detector


@dataclass(frozen=True, slots=True)
class FreshRows:
    """Where new rows lie. job_from: step from which on there are some of the job, None: no new
    rows. ranks: first and last step of those of ranks (last None: to the end), None: no new rows.
    """

    job_from: int | None
    ranks: tuple[int, int | None] | None


@dataclass(frozen=True, slots=True)
class DetectorState:
    """state: what the detector stored, None before its first row. step: the last row it judged."""

    step: int | None
    state: bytes | None


def lock_detector(run_id: int, attempt: int, name: str) -> DetectorState:
    """The state of a detector, locked until the transaction ends: one judge at a time."""
    execute(
        "INSERT INTO metrics_detector (run_id, attempt, name, step, state)"
        " VALUES (%s, %s, %s, NULL, '') ON CONFLICT DO NOTHING",
        [run_id, attempt, name],
    )
    row = Detector.objects.select_for_update().get(run_id=run_id, attempt=attempt, name=name)
    return DetectorState(row.step, bytes(row.state) or None)


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
        " RETURNING first_step, last_step, ranked",
        [run_id, attempt],
    )
    job = [first for first, _, ranked in rows if not ranked]
    first = [first for first, _, ranked in rows if ranked]
    last = [last for _, last, ranked in rows if ranked]
    return FreshRows(
        job_from=min(job, default=None),
        ranks=(min(first), None if None in last else max(last)) if first else None,
    )
