"""Points at full resolution as lines of CSV, made while they are sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apps.core.cells import cell
from apps.metrics import store as metrics
from apps.runs import store as runs

MOST_ROWS = 250_000
"""Of all ranks that are in memory at once."""


def of_series(run_id: int, key: str) -> Iterator[Sequence[Any]]:
    """All points of one series of the job, attempt by attempt."""
    yield "attempt", "step", "time_ns", cell(key)
    yield from _points(run_id, key)


def of_rows(run_id: int, rows: Mapping[str, Sequence[str]]) -> Iterator[Sequence[Any]]:
    """All points of the series behind rows of the heatmap (label -> series), one after the other:
    a layer that is drawn from its modules gives those, as they were logged."""
    yield "row", "series", "attempt", "step", "time_ns", "value"
    for label, names in rows.items():
        for name in names:
            for point in _points(run_id, name):
                yield cell(label), cell(name), *point


def of_ranks(run_id: int, attempt: int, key: str) -> Iterator[Sequence[Any]]:
    """All points of a per-rank series of one attempt, by step; a few steps in memory at a time."""
    yield "step", "time_ns", "rank", cell(key)
    for low, high in metrics.step_windows(run_id, attempt, (0, None), MOST_ROWS):
        points = metrics.read_rank_rows(run_id, attempt, key, low, high)
        if points is None or points.rank is None:
            continue
        columns = (points.step, points.time_ns, points.rank, points.value)
        for step, time_ns, rank, value in zip(*(c.tolist() for c in columns), strict=True):
            yield step, time_ns, rank, repr(value)


def _points(run_id: int, key: str) -> Iterator[tuple[int, int, int, str]]:
    """(attempt, step, time_ns, value) of one series of the job."""
    for attempt in runs.attempts(run_id):
        found = metrics.read_rows(run_id, attempt.number, [key]).get(key)
        if found is not None:
            for step, time_ns, value in zip(*(c.tolist() for c in found), strict=True):
                yield attempt.number, step, time_ns, repr(value)
