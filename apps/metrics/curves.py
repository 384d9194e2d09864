"""What a run logged, by part of its schedule: the curves that siblings are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from apps.metrics import naming, store
from apps.metrics.domain import schedule
from apps.metrics.domain.sibling import CELLS, Floats, cells_done, cells_known, profile
from apps.metrics.records import SeriesQuery
from apps.metrics.store import Reference
from apps.runs import store as runs
from apps.runs.records import AttemptInfo, RunInfo

POINTS = 16_000
"""Rows of an attempt that are looked at: 40 a cell. All of them in runs that log fewer."""
FINAL_CELLS = 4
"""The final loss is the median of the last 1 % of the schedule."""
COMPLETE_SHARE = 0.98


class Curve(msgspec.Struct):
    """A reference as it was read. loss, lr: by cell, None where nothing is known. total_steps: of
    its schedule, None: nobody says. final: of a run that is complete. why_not: why it is not
    compared with, in words; "" if it is."""

    loss: list[float | None]
    lr: list[float | None]
    total_steps: int | None
    complete: bool
    final: float | None
    why_not: str = ""

    def cells(self) -> Floats:
        """The loss by cell, NaN where nothing is known."""
        return floats(self.loss)


@dataclass(frozen=True, slots=True)
class Cells:
    """Values by cell, and the time of the newest row of each (0: none)."""

    value: Floats
    time_ns: list[int]


def floats(values: Sequence[float | None]) -> Floats:
    """None -> NaN."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def listed(values: Floats) -> list[float | None]:
    """NaN -> None, to store."""
    return [float(value) if np.isfinite(value) else None for value in values]


def read_curve(reference: Reference, total_steps: int | None = None) -> Curve:
    """Reads a reference: one statement for its run, two for its attempts and names, and a few for
    each attempt. total_steps: of its schedule, where the caller knows."""
    run = runs.run_by_id(reference.run_id)
    attempts = runs.attempts(run.id)
    own = _wanted(attempts, reference.attempt)
    total = total_steps or schedule_of(run, own)
    if own is None or total is None:
        return _useless(total, "nobody says how many steps its schedule has")
    roles = naming.roles_of(run.id)
    if roles.loss is None:
        return _useless(total, "it logs no loss")
    loss = read_cells(run.id, lineage(attempts, own.number), roles.loss, total).value
    lr = np.full(CELLS, np.nan)
    if roles.lr is not None:
        lr = read_cells(run.id, lineage(attempts, own.number), roles.lr, total).value
    known = cells_known(loss)
    if not known:
        return _useless(total, "it has no finite loss within its schedule")
    complete = known >= COMPLETE_SHARE * CELLS
    final = float(np.nanmedian(loss[known - FINAL_CELLS : known])) if complete else None
    return Curve(listed(loss), listed(lr), total, complete, final)


def _useless(total: int | None, why_not: str) -> Curve:
    nothing: list[float | None] = [None] * CELLS
    return Curve(nothing, nothing, total, False, None, why_not)


def _wanted(attempts: Sequence[AttemptInfo], number: int | None) -> AttemptInfo | None:
    found = [a for a in attempts if number is None or a.number == number]
    return found[-1] if found else None


def schedule_of(run: RunInfo, attempt: AttemptInfo | None) -> int | None:
    """The steps of a run's schedule: what its configuration says, else all it logged when it has
    ended; None while that is open."""
    said = schedule.total_steps(run.config)
    if said is not None or attempt is None or attempt.last_step is None:
        return said
    return attempt.last_step + 1 if attempt.exit_code == 0 else None


def lineage(attempts: Sequence[AttemptInfo], number: int) -> list[tuple[int, int | None]]:
    """(attempt, first step that no longer counts) of an attempt and its ancestors, newest first."""
    known = {info.number: info for info in attempts}
    found: list[tuple[int, int | None]] = []
    bound: int | None = None
    at: int | None = number
    while at is not None and at in known and len(found) < len(known):
        found.append((at, bound))
        own = known[at]
        fork = own.fork_step if own.fork_step is not None else own.first_step
        bound = fork if bound is None else min(bound, fork if fork is not None else bound)
        at = own.parent
    return found


def read_cells(
    run_id: int, parts: Sequence[tuple[int, int | None]], key: str, total_steps: int, first: int = 0
) -> Cells:
    """A series by cell, from step `first` on; parts as `lineage` gives them. At most POINTS rows an
    attempt are looked at."""
    steps: list[int] = []
    values: list[float] = []
    times: list[int] = []
    for attempt, bound in parts:
        last = total_steps - 1 if bound is None else min(bound, total_steps) - 1
        if last < first:
            continue
        query = SeriesQuery(run_id, (key,), attempt, from_step=first, to_step=last, points=POINTS)
        for window in store.read_series(query):
            if window.rank is None:
                steps += window.step
                values += window.last
                times += window.time_ns
    newest = [0] * CELLS
    for step, time_ns in zip(steps, times, strict=True):
        cell = cells_done(step - 1, total_steps)
        if cell < CELLS:
            newest[cell] = max(newest[cell], time_ns)
    return Cells(profile(steps, values, total_steps), newest)
