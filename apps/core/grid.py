"""Rows that all log the same numbers, as columns. Plain Python and NumPy.

Most bodies are like that. Their values are one matrix from the start, and nothing goes through
them one by one any more: a row is made for whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from apps.core.records import MetricRow

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Grid(Sequence[MetricRow]):
    """n rows of the job with the same k names.

    values: float64[n, k], every cell is there; NaN is a logged one. beside: float64[n] of each name
    that the extras of all rows have; no row has another.
    """

    names: tuple[str, ...]
    values: Floats
    steps: Sequence[int]
    times_ns: Sequence[int]
    beside: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, at: int) -> MetricRow: ...

    @overload
    def __getitem__(self, at: slice) -> Grid: ...

    def __getitem__(self, at: int | slice) -> MetricRow | Grid:
        if isinstance(at, slice):
            beside = {name: column[at] for name, column in self.beside.items()}
            return Grid(self.names, self.values[at], self.steps[at], self.times_ns[at], beside)
        values = dict(zip(self.names, self.values[at].tolist(), strict=True))
        extra = {name: float(column[at]) for name, column in self.beside.items()}
        return MetricRow(self.steps[at], self.times_ns[at], values, extra=extra or None)

    def at_steps(self, steps: Sequence[int]) -> Grid:
        """The same rows at other steps."""
        return replace(self, steps=steps)


def names_of(rows: Sequence[MetricRow]) -> set[str]:
    """All names that the rows log."""
    if isinstance(rows, Grid):
        return set(rows.names)
    return set[str]().union(*(row.values for row in rows))


def job_of(rows: Sequence[MetricRow]) -> Sequence[MetricRow]:
    """The rows without those of single ranks."""
    return rows if isinstance(rows, Grid) else [row for row in rows if row.rank is None]


def steps_of(rows: Sequence[MetricRow]) -> Sequence[int]:
    """The step of each row."""
    return rows.steps if isinstance(rows, Grid) else [row.step for row in rows]


def times_of(rows: Sequence[MetricRow]) -> Sequence[int]:
    """The time of each row, in nanoseconds."""
    return rows.times_ns if isinstance(rows, Grid) else [row.time_ns for row in rows]


def series_of(rows: Sequence[MetricRow], name: str) -> Sequence[float | None]:
    """What each row logs under a name; None where it does not."""
    if isinstance(rows, Grid):
        there = name in rows.names
        return rows.values[:, rows.names.index(name)].tolist() if there else [None] * len(rows)
    return [row.values.get(name) for row in rows]


def extras_of(rows: Sequence[MetricRow]) -> Sequence[Mapping[str, Any] | None]:
    """What each row says beside its numbers; None for nothing."""
    if not isinstance(rows, Grid):
        return [row.extra for row in rows]
    columns = zip(*(column.tolist() for column in rows.beside.values()), strict=True)
    names = tuple(rows.beside)
    return [dict(zip(names, row, strict=True)) for row in columns] or [None] * len(rows)
