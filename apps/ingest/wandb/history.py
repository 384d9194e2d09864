"""Stored series -> rows of history, as the `wandb` client wants them back. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import orjson

from apps.ingest.wandb.extras import Extra, flat, nested, own

Series = Mapping[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]]
"""name -> step, time_ns, value of each point, by step; at equal steps the later arrival last."""
Extras = Mapping[tuple[int, int], Extra]
"""(step, time_ns) -> what the row there said beside its numbers."""
Place = tuple[int, tuple[int, int]]
"""A row: its number in a Table, -1 if it has no numbers, and its (step, time_ns)."""
WHOLE: Final = 2.0**53
SYSTEM: Final = "system/"


@dataclass(frozen=True, slots=True)
class Row:
    """What was logged at one moment. values: under flat names. extra: beside the numbers, which
    values hold already. strict: every value is a finite number."""

    step: int
    time_ns: int
    values: dict[str, Any]
    extra: Extra
    strict: bool


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


def rows(found: Table, extras: Extras, chosen: Sequence[Place] | None = None) -> Iterator[Row]:
    """The rows, or those chosen. Whole numbers are ints, as the client sends them."""
    for at, moment in places(found, extras) if chosen is None else chosen:
        part = slice(int(found.starts[at]), int(found.starts[at + 1])) if at >= 0 else slice(0)
        values = found.value[part]
        whole = (values == np.floor(values)) & (np.abs(values) < WHOLE)
        whole &= ~((values == 0) & np.signbit(values))
        named = zip(found.name[part].tolist(), values.tolist(), whole.tolist(), strict=True)
        numbers = {found.names[n]: int(value) if one else value for n, value, one in named}
        extra = extras.get(moment, {})
        strict = "o" not in extra and bool(np.isfinite(values).all())
        yield Row(*moment, flat(numbers, extra), extra, strict)


def places(found: Table, extras: Extras) -> list[Place]:
    """Every row, by step and time: those with numbers and those without."""
    first = found.starts[:-1]
    moments = zip(found.step[first].tolist(), found.time_ns[first].tolist(), strict=True)
    known = {moment: at for at, moment in enumerate(moments)}
    if extras.keys() <= known.keys():
        return [(at, moment) for moment, at in known.items()]
    return [(known.get(moment, -1), moment) for moment in sorted(known.keys() | extras.keys())]


def evenly(count: int, most: int) -> list[int]:
    """At most `most` of `count` numbers, evenly spread, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(at) for at in np.linspace(0, count - 1, max(most, 1))})


def holding(found: Table, extras: Extras, names: Collection[str]) -> list[Place]:
    """The rows that hold every one of these names."""
    wanted = set(names)
    if not wanted:
        return places(found, extras)
    rows = set(numbered(found, wanted).tolist())
    return [
        (at, moment)
        for at, moment in places(found, extras)
        if at in rows or _extra_holds(found, at, extras, moment, wanted)
    ]


def numbered(found: Table, names: Collection[str]) -> npt.NDArray[np.intp]:
    """The rows of a table in which every one of these names is a number."""
    wanted = set(names)
    known = [at for at, name in enumerate(found.names) if name in wanted]
    if not wanted:
        return np.arange(len(found), dtype=np.intp)
    row = np.repeat(np.arange(len(found), dtype=np.intp), np.diff(found.starts))
    asked = np.isin(found.name, known)
    # A name may stand twice in a row.
    pairs = np.unique(row[asked] * len(found.names) + found.name[asked])
    count = np.bincount(pairs // max(len(found.names), 1), minlength=len(found))
    return np.flatnonzero(count == len(wanted))


def place(found: Table, at: int) -> Place:
    """The place of a row of a table."""
    first = found.starts[at]
    return at, (int(found.step[first]), int(found.time_ns[first]))


def _extra_holds(
    found: Table, at: int, extras: Extras, moment: tuple[int, int], wanted: set[str]
) -> bool:
    extra = extras.get(moment, {})
    if wanted.isdisjoint(extra.get("o", ())) and wanted.isdisjoint(extra.get("d", ())):
        return False
    (row,) = rows(found, extras, [(at, moment)])
    return wanted <= row.values.keys() | set(extra.get("d", ()))


def seconds(time_ns: int) -> float:
    """A time as the double it was read from: int by int, so that the quotient is the nearest."""
    return time_ns / 1_000_000_000


def logged(row: Row) -> dict[str, Any]:
    """The row as it was logged, with its step and time under the names of the client."""
    named = {"_step": row.step, "_timestamp": seconds(row.time_ns), **own(row.extra)}
    return {**nested(row.values, row.extra), **named}


def chosen(row: Row, keys: Sequence[str]) -> dict[str, Any]:
    """What the row holds under these keys: flat names, or those of objects."""
    found = {**logged(row), **row.values}
    return {key: found[key] for key in keys if key in found}


def line(row: Row) -> str:
    """The row as a line of history: JSON in which NaN and infinities are bare."""
    found = logged(row)
    return orjson.dumps(found).decode() if row.strict else json.dumps(found)


def event(row: Row) -> dict[str, Any]:
    """A row of system metrics under the names the client gave them."""
    named = {f"system.{name.removeprefix(SYSTEM)}": value for name, value in row.values.items()}
    return {**named, "_timestamp": seconds(row.time_ns), "_wandb": True}
