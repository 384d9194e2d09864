"""Logged rows -> matrices ready to be stored."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter, lt

import numpy as np

from apps.core.errors import BadPayload
from apps.core.grid import Grid, job_of, steps_of, times_of
from apps.core.records import MetricRow
from apps.metrics.domain.blocks import Axis, Cells, Floats

MAX_KEY_CHARS = 500
MAX_CELLS = 1 << 21
MAX_ROWS = 1 << 16
SMALL_CELLS, MOST_EMPTY = 1 << 16, 16
"""Above the first, at most so many cells a value: rows that share few names lie apart."""
STEP_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True)
class Packed:
    """One matrix: rows in order of arrival, columns by name. ranked: the rows carry a rank."""

    ranked: bool
    names: tuple[str, ...]
    axis: Axis
    cells: Cells

    @property
    def keyset_id(self) -> int:
        """A signed 64-bit digest of the columns: the same names always give the same number."""
        text = "\0".join(("r" if self.ranked else "j", *self.names))
        digest = hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)


@dataclass(frozen=True, slots=True)
class Irregular:
    """Rows of one batch that repeat a step of their rank, or go back."""

    duplicate_steps: int
    backward_steps: int


def pack(rows: Sequence[MetricRow]) -> Iterator[Packed]:
    """The rows as matrices, one after the other: those of the job first, then those with a rank.

    Row order is kept. Absent cells stay absent. Raises BadPayload for a name that is empty or too
    long and for a step or time outside int64. Cost: one dict walk and one array fill per row.
    """
    if isinstance(rows, Grid):
        yield from _grid_pieces(rows)
        return
    job = [row for row in rows if row.rank is None and row.values]
    ranked = [row for row in rows if row.rank is not None and row.values]
    yield from _pieces(job, ranked=False)
    yield from _pieces(ranked, ranked=True)


def columns(packed: Packed) -> Iterator[Packed]:
    """Each column as a matrix of its own, without the rows that lack it."""
    for at, name in enumerate(packed.names):
        there = packed.cells.present[:, at] if packed.cells.present is not None else slice(None)
        axis = Axis(
            packed.axis.step[there],
            packed.axis.time_ns[there],
            None if packed.axis.rank is None else packed.axis.rank[there],
        )
        yield Packed(
            packed.ranked, (name,), axis, Cells(packed.cells.values[there, at : at + 1], None)
        )


def irregular(rows: Sequence[MetricRow]) -> Irregular:
    """How many rows repeat or go back within their rank."""
    steps = steps_of(job_of(rows))
    if len(steps) == len(rows) and all(map(lt, steps, steps[1:])):
        return Irregular(0, 0)
    newest: dict[int | None, int] = {}
    seen: set[tuple[int | None, int]] = set()
    duplicate = backward = 0
    for row in rows:
        duplicate += (row.rank, row.step) in seen
        backward += row.step < newest.get(row.rank, row.step)
        seen.add((row.rank, row.step))
        newest[row.rank] = max(row.step, newest.get(row.rank, row.step))
    return Irregular(duplicate, backward)


def clean_name(name: str) -> str:
    """The name as it can be stored: NUL and lone surrogates, which Postgres refuses, replaced."""
    if not name or len(name) > MAX_KEY_CHARS:
        raise BadPayload(
            f"a metric name has {len(name)} characters",
            hint=f"use 1 to {MAX_KEY_CHARS}",
            where=f"values[{name[:40]!r}]",
        )
    clean = name.replace("\0", "\ufffd")
    return clean if clean.isascii() else clean.encode("utf-8", "replace").decode("utf-8")


def _pieces(rows: Sequence[MetricRow], *, ranked: bool) -> Iterator[Packed]:
    start, names, values = 0, set[str](), 0
    for at, row in enumerate(rows):
        new = set() if names.issuperset(row.values) else row.values.keys() - names
        values += len(row.values)
        cells = (at - start + 1) * (len(names) + len(new))
        empty = cells > SMALL_CELLS and cells > MOST_EMPTY * values
        if at > start and (at - start == MAX_ROWS or cells > MAX_CELLS or empty):
            yield _matrix(rows[start:at], names, ranked=ranked)
            start, names, values, new = at, set(), len(row.values), set(row.values)
        names |= new
    if rows:
        yield _matrix(rows[start:], names, ranked=ranked)


def _grid_pieces(grid: Grid) -> Iterator[Packed]:
    """The same, of rows that are columns already: only these are put in order."""
    columns, place = _columns(grid.names)
    values = np.empty((len(grid), len(columns)))
    values[:, [place[name] for name in grid.names]] = grid.values
    at_once = max(1, min(MAX_ROWS, MAX_CELLS // len(grid.names)))
    for start in range(0, len(grid), at_once):
        part = slice(start, start + at_once)
        yield Packed(False, columns, _axis(grid[part], ranked=False), Cells(values[part], None))


def _columns(names: Iterable[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """The stored names in order, and in which column each logged name lies."""
    clean = {name: clean_name(name) for name in sorted(names)}
    columns = tuple(sorted(set(clean.values())))
    places = {name: at for at, name in enumerate(columns)}
    return columns, {name: places[stored] for name, stored in clean.items()}


def _matrix(rows: Sequence[MetricRow], names: Iterable[str], *, ranked: bool) -> Packed:
    columns, place = _columns(names)
    values = np.full((len(rows), len(columns)), np.nan)
    present = np.zeros(values.shape, dtype=np.bool_)
    groups: dict[frozenset[str], list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        groups[frozenset(row.values)].append(at)
    for logged, members in groups.items():
        order = list(logged)
        where = np.ix_(members, [place[name] for name in order])
        values[where] = _taken([rows[at].values for at in members], order)
        present[where] = True
    cells = Cells(values, None if present.all() else present)
    return Packed(ranked, columns, _axis(rows, ranked=ranked), cells)


def _taken(values: Sequence[Mapping[str, float]], names: list[str]) -> Floats:
    """float64[n, k]. Twice as fast as a list of lists: W&B shuffles the names of each row."""
    if len(names) == 1:
        cells: Iterable[float] = (row[names[0]] for row in values)
    else:
        cells = chain.from_iterable(map(itemgetter(*names), values))
    return np.fromiter(cells, np.float64, len(values) * len(names)).reshape(len(values), -1)


def _axis(rows: Sequence[MetricRow], *, ranked: bool) -> Axis:
    steps, times = steps_of(rows), times_of(rows)
    for step, time_ns in zip(steps, times, strict=True):
        if not (abs(step) < STEP_LIMIT and abs(time_ns) < STEP_LIMIT):
            raise BadPayload(
                f"step {step} or time {time_ns} ns is out of range",
                hint="steps and Unix nanoseconds must fit 62 bits",
                where="rows[].step",
            )
    return Axis(
        np.array(steps, dtype=np.int64),
        np.array(times, dtype=np.int64),
        np.array([row.rank for row in rows], dtype=np.int32) if ranked else None,
    )
