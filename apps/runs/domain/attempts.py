"""Which attempt a start or a row belongs to. Plain values, no tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.records import MetricRow
from apps.runs.records import AttemptInfo, LaunchSeen

JOIN_WINDOW_NS = 60 * 1_000_000_000
"""Sources that start within a minute of an attempt's start belong to it (agents of one launch
start together; a job that died and restarted took longer in every recorded case)."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The start belongs to attempt `number`; `new` if that attempt has to be opened."""

    number: int
    new: bool


def place_launch(
    launch: LaunchSeen, attempts: Sequence[AttemptInfo], taken: frozenset[tuple[int, str]]
) -> Joined:
    """The attempt a start belongs to.

    attempts: all of the run. taken: (attempt, slot) pairs that already have a start.
    A slot runs once in an attempt, so a second start of a slot opens the next attempt. A start of
    a free slot joins the nearest attempt that began within JOIN_WINDOW_NS of it, or the newest one
    that was active at that time (a node that joined late). A start that says which step it resumes
    from never joins an attempt that began earlier than the window.
    """
    nearest = sorted(attempts, key=lambda a: abs(a.started_ns - launch.started_ns))
    for attempt in nearest:
        near = abs(attempt.started_ns - launch.started_ns) <= JOIN_WINDOW_NS
        if near and (attempt.number, launch.slot) not in taken:
            return Joined(attempt.number, new=False)
    for attempt in sorted(attempts, key=lambda a: -a.number):
        active = attempt.started_ns <= launch.started_ns <= (attempt.last_ns or 0)
        free = (attempt.number, launch.slot) not in taken
        if active and free and launch.resume_step is None:
            return Joined(attempt.number, new=False)
    return Joined(max((a.number for a in attempts), default=-1) + 1, new=True)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows of one attempt. restart: the rows begin a new attempt. late: rows behind their time."""

    rows: tuple[MetricRow, ...]
    restart: bool
    late: int


def split_restarts(
    rows: Sequence[MetricRow], last_step: int | None, last_ns: int | None
) -> list[Stretch]:
    """The rows cut where training went back to a lower step.

    A lower step at a later time is a restart. A lower step at an earlier or equal time is a late
    row: it stays where it is and is counted. Rows of single ranks never start a restart, since
    ranks print at their own pace. Nothing is dropped. O(n).
    """
    stretches: list[Stretch] = []
    current: list[MetricRow] = []
    restart, late = False, 0
    for row in rows:
        back = row.rank is None and last_step is not None and row.step < last_step
        if back and row.time_ns > (last_ns or 0):
            if current:
                stretches.append(Stretch(tuple(current), restart, late))
            current, restart, late = [], True, 0
            last_step, last_ns = row.step, row.time_ns
        elif back:
            late += 1
        current.append(row)
        if row.rank is None:
            last_step = row.step if last_step is None else max(last_step, row.step)
            last_ns = max(last_ns or 0, row.time_ns)
    if current:
        stretches.append(Stretch(tuple(current), restart, late))
    return stretches
