"""Rows of one matrix, each seen as the mapping it is. Plain Python and NumPy.

Most bodies log the same numbers in every row. Then their values are one matrix from the start, and
nothing goes through them one by one any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from apps.core.records import MetricRow
from apps.metrics.domain.blocks import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """names: k different ones. values: float64[n, k], every cell is there; NaN is a logged one."""

    names: tuple[str, ...]
    values: Floats

    def rows(self) -> Iterator[GridRow]:
        """One mapping a row, in order."""
        places = {name: at for at, name in enumerate(self.names)}
        return (GridRow(self, at, places) for at in range(len(self.values)))


class GridRow(Mapping[str, float]):
    """name -> value of one row. at: which."""

    __slots__ = ("_places", "at", "grid")

    def __init__(self, grid: Grid, at: int, places: Mapping[str, int]) -> None:
        self.grid = grid
        self.at = at
        self._places = places

    def __getitem__(self, name: str) -> float:
        return float(self.grid.values[self.at, self._places[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self.grid.names)

    def __len__(self) -> int:
        return len(self.grid.names)


def grid_of(rows: Sequence[MetricRow]) -> Grid | None:
    """The part of a grid that the values of the rows are; None if they are not of one grid."""
    values = [row.values for row in rows]
    first = values[0] if values else None
    if not isinstance(first, GridRow):
        return None
    grid = first.grid
    places = [row.at for row in values if isinstance(row, GridRow) and row.grid is grid]
    if len(places) < len(values):
        return None
    return Grid(grid.names, grid.values[np.array(places)])


def names_of(rows: Sequence[MetricRow]) -> set[str]:
    """All names that the rows log."""
    grid = grid_of(rows)
    return set(grid.names) if grid else set[str]().union(*(row.values for row in rows))
