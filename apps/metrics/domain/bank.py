"""A bank of detectors: many series at once, each against its own robust band.

Rows come as a matrix, so that 500 series cost little more than one. The verdict at a value uses the
values of the series up to it and nothing later; cutting the rows into pieces changes nothing.

The past of a series is a ring of medians of eight values. The band is what a line through the newer
and the older half of the ring foretells (with half its slope: curves flatten), and 1.4826 x the
median distance from what was foretold, so that the error of the line is part of the scale and a
smooth schedule stays inside. Values outside do not enter the ring. A series that stays outside and
is calm there gets a new ring. Early training reshapes every statistic, so the first 192 values of a
series are learned and never judged, except against an absolute limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from apps.metrics.domain.bank_judge import BankPolicy, Judge, Seen
from apps.metrics.domain.bank_state import Array, BankState, Singles, empty
from apps.metrics.domain.blocks import Bools, Floats, Ints

__all__ = ["BankPolicy", "Demand", "Happened", "Rows", "What", "feed", "of"]


class What(IntEnum):
    """What happened to a series.

    MOVED: it left its band. LOUD: by far. BACK: it is inside again. SETTLED: it stays where it
    went, which is usual from now on. OVER, UNDER: above its limit; below again, or above it for so
    long that no more is said.
    """

    MOVED = 0
    LOUD = 1
    OVER = 2
    BACK = 3
    SETTLED = 4
    UNDER = 5


@dataclass(frozen=True, slots=True)
class Demand:
    """What a statistic asks for. excess: share of its level it must move by. far_need: so many
    values running are enough when they are far out. limit: no more than this, inf: none."""

    excess: float = 0.15
    far_need: int = 12
    limit: float = float("inf")


def of(demands: list[Demand]) -> BankState:
    """A bank of series without a past."""
    state = empty(len(demands))
    state.excess[:] = [demand.excess for demand in demands]
    state.far_need[:] = [demand.far_need for demand in demands]
    state.limit[:] = [demand.limit for demand in demands]
    return state


@dataclass(frozen=True, slots=True)
class Rows:
    """A matrix of logged values: step, time_ns: int64[n], steps rising; values: float64[n, k].

    present: bool[n, k], which cells were logged; None: all of them.
    """

    step: Ints
    time_ns: Ints
    values: Floats
    present: Bools | None = None

    def part(self, start: int, end: int) -> Rows:
        """Some rows, as views."""
        at = slice(start, end)
        present = None if self.present is None else self.present[at]
        return Rows(self.step[at], self.time_ns[at], self.values[at], present)

    @property
    def shown(self) -> Bools:
        """Which cells were logged."""
        return np.ones(self.values.shape, np.bool_) if self.present is None else self.present


@dataclass(frozen=True, slots=True)
class Happened:
    """What became of one series at a value. column: which. step, time_ns: of that value.

    since_step, since_ns: where its move began; before: its level there; value, z: of the first
    value of the move. peak_z: of the farthest value so far. Where a value is no number, z is inf.
    """

    what: What
    column: int
    step: int
    time_ns: int
    since_step: int
    since_ns: int
    before: float
    value: float
    z: float
    peak_z: float


def feed(state: BankState, rows: Rows, policy: BankPolicy) -> list[Happened]:
    """Judges the rows and changes the state; what happened, by step.

    Cells at or below their series' last step are passed over. A NaN or infinity is outside the
    band. Cost: see `manage.py bench detect`; it grows with the values, and with the rows where
    there are few series.
    """
    cells = _compact(state, rows)
    if cells is None:
        return []
    lanes = state.take(cells.order)
    found: list[Happened] = []
    with np.errstate(all="ignore"):
        for count, at in cells.stretches():
            judge = Judge(lanes.first(count), policy)
            seen = _judged(judge, cells.value[at, :count], (rows, cells.at[at, :count]))
            for name, what in seen:
                found += _told(What[name], what, judge.lanes, cells.order)
    state.put(cells.order, lanes)
    return sorted(found, key=lambda one: (one.step, one.what, one.since_step, one.column))


def _judged(judge: Judge, values: Singles, place: tuple[Rows, Array]) -> Iterator[tuple[str, Seen]]:
    """Row by row, but for those in which no series comes near the edge of its band."""
    (rows, at), row = place, 0
    while row < len(values):
        if passed := judge.pass_over(values[row:]):
            row += passed
            judge.lanes.last_step[:] = rows.step[at[row - 1]]
        if row < len(values):
            yield from judge.take(values[row], rows.step[at[row]], rows.time_ns[at[row]])
            row += 1


@dataclass(frozen=True, slots=True)
class _Cells:
    """order[k]: columns with new values, those with most first. value[m, k]: their new values moved
    to the top; at[m, k]: the rows they come from. active[m]: how many columns have an m-th one."""

    order: Array
    active: Array
    value: Singles
    at: Array

    def stretches(self) -> Iterator[tuple[int, slice]]:
        """Rows that as many columns have."""
        counts, starts = np.unique(-self.active, return_index=True)
        ends = [*starts[1:].tolist(), len(self.active)]
        for count, start, end in zip(counts.tolist(), starts.tolist(), ends, strict=True):
            yield -count, slice(start, end)


def _compact(state: BankState, rows: Rows) -> _Cells | None:
    fresh = rows.step[:, None] > state.last_step[None, :]
    if rows.present is not None:
        fresh &= rows.present
    counts = fresh.sum(axis=0)
    most = int(counts.max(initial=0))
    if not most:
        return None
    order = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    fresh, counts = fresh[:, order], counts[order]
    if counts[-1] == len(rows.step):
        at = np.broadcast_to(np.arange(most)[:, None], fresh.shape)
    else:
        at = np.argsort(~fresh, axis=0, kind="stable")[:most]
    with np.errstate(over="ignore"):
        value = np.take_along_axis(rows.values[:, order], at, axis=0).astype(np.float32)
    active = (counts[None, :] > np.arange(most)[:, None]).sum(axis=1)
    return _Cells(order, active, value, at)


def _told(what: What, seen: Seen, s: BankState, order: Array) -> list[Happened]:
    over = what in (What.OVER, What.UNDER)
    return [
        Happened(
            what,
            int(order[n]),
            step,
            time_ns,
            step if over else int(s.lean_step[n]),
            time_ns if over else int(s.lean_ns[n]),
            float(s.level[n]) if over else float(s.lean_level[n]),
            x if over else float(s.lean_value[n]),
            float(s.lean_z[n]),
            float(s.peak_z[n]),
        )
        for n, x, step, time_ns in zip(
            seen.at.tolist(), seen.x.tolist(), seen.step.tolist(), seen.time_ns.tolist(),
            strict=True,
        )
    ]  # fmt: skip
