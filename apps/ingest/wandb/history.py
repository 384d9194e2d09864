"""Stored series -> rows of history, as the `wandb` client wants them back. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import orjson

Series = Mapping[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]]
"""name -> step, time_ns, value of each point, by step; at equal steps the later arrival last."""
WHOLE: Final = 2.0**53
SYSTEM: Final = "system/"


@dataclass(frozen=True, slots=True)
class Row:
    """What was logged at one moment. strict: every value is a finite number."""

    step: int
    time_ns: int
    values: dict[str, Any]
    strict: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """The points of a Series in row order; row i has the points starts[i] to starts[i + 1]."""

    names: Sequence[str]
    step: npt.NDArray[np.int64]
    time_ns: npt.NDArray[np.int64]
    name: npt.NDArray[np.intp]
    value: npt.NDArray[np.float64]
    starts: npt.NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.starts) - 1


def table(series: Series) -> Table:
    """Points of equal step and time are one row. Rows by step, then by time."""
    names, parts = list(series), list(series.values())
    if not parts:
        empty = np.zeros(0, np.int64)
        return Table(names, empty, empty, empty, np.zeros(0), np.zeros(1, np.intp))
    step, time_ns = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    value = np.concatenate([part[2] for part in parts])
    name = np.repeat(np.arange(len(names)), [len(part[0]) for part in parts])
    order = np.lexsort((time_ns, step))
    step, time_ns = step[order], time_ns[order]
    new = np.ones(len(step) + 1, dtype=np.bool_)
    new[1:-1] = (step[1:] != step[:-1]) | (time_ns[1:] != time_ns[:-1])
    return Table(names, step, time_ns, name[order], value[order], np.flatnonzero(new))


def arrays(
    step: Sequence[int], time_ns: Sequence[int], value: Sequence[float]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """One entry of a Series."""
    return np.array(step, np.int64), np.array(time_ns, np.int64), np.array(value, np.float64)


def rows(found: Table, chosen: Sequence[int] | None = None) -> Iterator[Row]:
    """The rows, or those chosen by number. Whole numbers are ints, as the client sends them."""
    for at in range(len(found)) if chosen is None else chosen:
        part = slice(int(found.starts[at]), int(found.starts[at + 1]))
        values = found.value[part]
        whole = (values == np.floor(values)) & (np.abs(values) < WHOLE)
        whole &= ~((values == 0) & np.signbit(values))
        named = zip(found.name[part].tolist(), values.tolist(), whole.tolist(), strict=True)
        yield Row(
            step=int(found.step[part.start]),
            time_ns=int(found.time_ns[part.start]),
            values={found.names[n]: int(value) if one else value for n, value, one in named},
            strict=bool(np.isfinite(values).all()),
        )


def evenly(count: int, most: int) -> list[int]:
    """At most `most` of `count` numbers, evenly spread, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(at) for at in np.linspace(0, count - 1, max(most, 1))})


def holding(found: Table, names: Collection[str]) -> list[int]:
    """The rows that hold every one of these names."""
    wanted = [at for at, name in enumerate(found.names) if name in names]
    if len(wanted) < len(set(names)):
        return []
    row = np.repeat(np.arange(len(found)), np.diff(found.starts))
    full = np.ones(len(found), dtype=np.bool_)
    for at in wanted:
        has = np.zeros(len(found), dtype=np.bool_)
        has[row[found.name == at]] = True
        full &= has
    return [int(at) for at in np.flatnonzero(full)]


def seconds(time_ns: int) -> float:
    """A time as the double it was read from: int by int, so that the quotient is the nearest."""
    return time_ns / 1_000_000_000


def logged(row: Row) -> dict[str, Any]:
    """The row with its step and time under the names of the client."""
    return {**row.values, "_step": row.step, "_timestamp": seconds(row.time_ns)}


def line(row: Row) -> str:
    """The row as a line of history: JSON in which NaN and infinities are bare."""
    found = logged(row)
    return orjson.dumps(found).decode() if row.strict else json.dumps(found)


def event(row: Row) -> dict[str, Any]:
    """A row of system metrics under the names the client gave them."""
    named = {f"system.{name.removeprefix(SYSTEM)}": value for name, value in row.values.items()}
    return {**named, "_timestamp": seconds(row.time_ns), "_wandb": True}
