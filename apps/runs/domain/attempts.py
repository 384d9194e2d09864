"""Which attempt a start or a row belongs to. Plain values, no tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import le

from apps.core.grid import job_of, steps_of
from apps.core.records import MetricRow
from apps.runs.records import AttemptInfo, LaunchSeen, Start

JOIN_WINDOW_NS = 60 * 1_000_000_000
"""Sources that start within a minute of an attempt's start belong to it (agents of one launch
start together; a job that died and restarted took longer in every recorded case)."""
LATE_WINDOW_NS = 30 * 60 * 1_000_000_000
"""The first source of a kind may come this long after the attempt was last heard of: loading a
checkpoint is silent, and `wandb.init` comes after it."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The start belongs to attempt `number`; `new` if that attempt has to be opened."""

    number: int
    new: bool


def place_launch(
    launch: LaunchSeen, attempts: Sequence[AttemptInfo], starts: Sequence[Start]
) -> Joined:
    """The attempt a start belongs to.

    attempts: of the run, in any order. starts: known ones, at least all of the launch's slot and
    all of the newest attempt.
    A slot runs once in an attempt, so a second start of a slot opens the next attempt. A start of
    a free slot joins the nearest attempt that began within JOIN_WINDOW_NS of it, else one that was
    active at that time (a node that joined late), else the newest if that runs and knows no source
    of this kind ("torchrun", "wandb") and was heard of within LATE_WINDOW_NS. Beyond
    JOIN_WINDOW_NS a start that says which step it resumes from joins only what says the same.
    """
    taken = _taken(launch.slot, attempts, starts)
    free = sorted((a for a in attempts if a.number not in taken), key=lambda a: -a.number)
    near = [a for a in free if abs(a.started_ns - launch.started_ns) <= JOIN_WINDOW_NS]
    if near:
        nearest = min(near, key=lambda a: abs(a.started_ns - launch.started_ns))
        return Joined(nearest.number, new=False)
    newest = max((a.number for a in attempts), default=-1)
    for attempt in free:
        own = [start for start in starts if start.attempt == attempt.number]
        if launch.resume_step not in {None, *(start.resume_step for start in own)}:
            continue
        active = attempt.started_ns <= launch.started_ns <= (attempt.last_ns or 0)
        if active or (attempt.number == newest and _late_kind(launch, attempt, own)):
            return Joined(attempt.number, new=False)
    return Joined(newest + 1, new=True)


def _taken(slot: str, attempts: Sequence[AttemptInfo], starts: Sequence[Start]) -> set[int]:
    """Attempts this slot runs in: its starts', and those the same processes went on with."""
    heirs = {a.number: a.continued_by for a in attempts}
    taken = set[int]()
    for start in starts:
        number = start.attempt if start.slot == slot else None
        while number is not None and number not in taken:
            taken.add(number)
            number = heirs.get(number)
    return taken


def _late_kind(launch: LaunchSeen, attempt: AttemptInfo, own: Sequence[Start]) -> bool:
    """Whether this is the first source of its kind in an attempt that still runs."""
    silent_ns = launch.started_ns - max(attempt.started_ns, attempt.last_ns or 0)
    kinds = {_kind(start.slot) for start in own}
    return (
        attempt.state == "running"
        and attempt.started_ns <= launch.started_ns
        and silent_ns <= LATE_WINDOW_NS
        and _kind(launch.slot) not in kinds
    )


def _kind(slot: str) -> str:
    return slot.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows of one attempt. restart: the rows begin a new attempt. late: rows behind their time."""

    rows: Sequence[MetricRow]
    restart: bool
    late: int


def _ascend(steps: Sequence[int], first: int | None) -> bool:
    before = steps if first is None else [first, *steps]
    return all(map(le, before, before[1:]))


def split_restarts(
    rows: Sequence[MetricRow], last_step: int | None, last_ns: int | None
) -> list[Stretch]:
    """The rows cut where training went back to a lower step.

    A lower step at a later time is a restart. A lower step at an earlier or equal time is a late
    row: it stays where it is and is counted. Rows of single ranks never start a restart, since
    ranks print at their own pace. Nothing is dropped. O(n).
    """
    steps = steps_of(job_of(rows))
    if len(steps) == len(rows) and _ascend(steps, last_step):
        return [Stretch(rows, restart=False, late=0)] if rows else []
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
