"""How often each template was said in each hour, by whom, and by whom first.

A Tally is a small table. tally() makes one of the lines of a batch, fold() adds any number of them
up; in which order and in which groups does not matter, so that batches may be stored as they come
and added up later. Plain Python and NumPy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.pattern.rankbits import MAX_RANKS
from apps.logs.domain.pattern.templates import OTHER

NS_HOUR = 3_600 * 1_000_000_000
MAX_HOURS = 48
NO_RANK = -1
NEVER = 2**63 - 1
_MAX_CELLS = 1 << 24

ROW = np.dtype(
    [
        ("template", "<i8"),
        ("hour", "<i4"),
        ("lines", "<i8"),
        ("unranked", "<i8"),
        ("first_ns", "<i8"),
        ("first_rank", "<i4"),
        ("first_seq", "<i8"),
        ("next_ns", "<i8"),
        ("next_rank", "<i4"),
        ("last_ns", "<i8"),
        ("worst", "u1"),
        ("ranks", "<u4"),
        ("node", "<u4"),
    ]
)
Column = NDArray[np.int64]
Rows = NDArray[np.void]


@dataclass(frozen=True, slots=True)
class Columns:
    """What is counted of lines: int64 arrays of equal length n, in any order.

    rank: -1 = none. severity: of apps.core.records.
    """

    template: Column
    rank: Column
    time_ns: Column
    severity: Column
    seq: Column

    def __len__(self) -> int:
        return len(self.template)


@dataclass(frozen=True, slots=True)
class Tally:
    """Rows, ascending by (template, hour), each pair once.

    hour: since 1970 UTC. first_*: the earliest line; of lines at one time that of the lowest rank
    (-1 = none), then seq. next_*: the earliest line of any other rank (NEVER, -1: no other spoke).
    unranked: lines without a rank. worst: severity. ranks: index into sets, bit r is rank r.
    node: index into nodes, of the first line ("" = unknown).
    """

    rows: Rows
    sets: tuple[int, ...]
    nodes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)


NOTHING = Tally(np.zeros(0, dtype=ROW), (), ())


def tally(columns: Columns, node: str = "") -> tuple[Tally, Column]:
    """The lines of one node, and of each row the number of its first line.

    Lines over more than MAX_HOURS different hours: what is older counts in the oldest hour of the
    newest MAX_HOURS. Cost: about 0.1 us a line.
    """
    if not len(columns):
        return NOTHING, np.zeros(0, dtype=np.int64)
    group, templates, hours = _groups(columns)
    order = np.argsort(
        group.astype(np.uint16 if len(templates) < 1 << 16 else np.int64), kind="stable"
    )
    starts = np.searchsorted(group[order], np.arange(len(templates)))
    rows = np.zeros(len(templates), dtype=ROW)
    rows["template"], rows["hour"] = templates, hours
    rows["lines"] = np.diff(starts, append=len(group))
    rows["unranked"] = np.bincount(group[columns.rank < 0], minlength=len(rows))
    rows["first_ns"] = np.minimum.reduceat(columns.time_ns[order], starts)
    rows["last_ns"] = np.maximum.reduceat(columns.time_ns[order], starts)
    rows["worst"] = np.maximum.reduceat(columns.severity[order], starts)
    first = _first_lines(columns, group, rows["first_ns"])
    rows["first_rank"], rows["first_seq"] = columns.rank[first], columns.seq[first]
    _set_next(rows, group, columns.time_ns, columns.rank)
    sets = _numbered(rows, _rank_sets(columns.rank, group, len(rows)))
    return Tally(rows, sets, (node,)), first


def _groups(columns: Columns) -> tuple[Column, Column, Column]:
    """Group of each line; template and hour of each group, ascending."""
    known, template = np.unique(columns.template, return_inverse=True)
    hour = columns.time_ns // NS_HOUR
    if hour[0] == hour.min() == hour.max():
        return template, known, np.full(len(known), hour[0])
    hours, number = np.unique(hour, return_inverse=True)
    kept = hours[-MAX_HOURS:]
    number = np.maximum(number - (len(hours) - len(kept)), 0)
    pairs, group = np.unique(template * len(kept) + number, return_inverse=True)
    return group, known[pairs // len(kept)], kept[pairs % len(kept)]


def _first_lines(columns: Columns, group: Column, first_ns: Column) -> Column:
    """Number of the first line of each group: earliest, then lowest rank, then lowest seq."""
    at = np.flatnonzero(columns.time_ns == first_ns[group])
    at = at[np.lexsort((columns.seq[at], columns.rank[at], group[at]))]
    return at[np.searchsorted(group[at], np.arange(len(first_ns)))]


def _set_next(rows: Rows, group: Column, time_ns: Column, rank: Column) -> None:
    """next_ns and next_rank of each row, of lines of any rank but the first one's."""
    rows["next_ns"], rows["next_rank"] = NEVER, NO_RANK
    at = np.flatnonzero((rank != rows["first_rank"][group]) & (time_ns != NEVER))
    if not len(at):
        return
    earliest = np.full(len(rows), NEVER)
    np.minimum.at(earliest, group[at], time_ns[at])
    rows["next_ns"] = earliest
    at = at[time_ns[at] == earliest[group[at]]]
    at = at[np.lexsort((-rank[at], group[at]))]  # of equals the last one written stays: the lowest
    rows["next_rank"][group[at]] = rank[at]


def _rank_sets(rank: Column, group: Column, count: int) -> list[int]:
    """The set of ranks of each group."""
    ranked = np.flatnonzero((rank >= 0) & (rank < MAX_RANKS))
    if not len(ranked):
        return [0] * count
    rank, group = rank[ranked], group[ranked]
    low = int(rank.min()) // 8 * 8
    width = int(rank.max()) + 1 - low
    if width * count > _MAX_CELLS:
        return _sparse_sets(rank, group, count)
    said = np.zeros((count, width), dtype=np.bool_)
    said[group, rank - low] = True
    packed = np.packbits(said, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") << low for row in packed]


def _sparse_sets(rank: Column, group: Column, count: int) -> list[int]:
    sets = [0] * count
    for pair in np.unique(group * MAX_RANKS + rank).tolist():
        sets[pair // MAX_RANKS] |= 1 << (pair % MAX_RANKS)
    return sets


def _numbered(rows: Rows, sets: Sequence[int]) -> tuple[int, ...]:
    """The different sets, once their indices stand in the rows."""
    numbers: dict[int, int] = {}
    rows["ranks"] = [numbers.setdefault(bits, len(numbers)) for bits in sets]
    return tuple(numbers)


def fold(tallies: Sequence[Tally], *, whole: bool = False) -> Tally:
    """All together. whole: the hours too; a row then has the hour of its first line."""
    tallies = [one for one in tallies if len(one)]
    if not tallies or (len(tallies) == 1 and not whole):
        return tallies[0] if tallies else NOTHING
    return _added(*_joined(tallies), whole=whole)


def _added(
    rows: Rows, sets: Sequence[int], nodes: tuple[str, ...], *, whole: bool = False
) -> Tally:
    """Rows in any order, of which several may have one key, added up."""
    keys = ["first_seq", "first_rank", "first_ns"] + ["hour"] * (not whole) + ["template"]
    rows = rows[np.lexsort([rows[key] for key in keys])]
    new = rows["template"][1:] != rows["template"][:-1]
    if not whole:
        new |= rows["hour"][1:] != rows["hour"][:-1]
    starts = np.flatnonzero(np.concatenate(([True], new)))
    group = np.cumsum(np.concatenate(([0], new)))
    done = rows[starts].copy()
    for name, add in (("lines", np.add), ("unranked", np.add), ("last_ns", np.maximum),
                      ("worst", np.maximum)):  # fmt: skip
        done[name] = add.reduceat(rows[name], starts)
    _set_next(
        done,
        np.concatenate((group, group)),
        np.concatenate((rows["first_ns"], rows["next_ns"])),
        np.concatenate((rows["first_rank"], rows["next_rank"])).astype(np.int64),
    )
    merged = _union(sets, rows["ranks"], group, len(done))
    return Tally(done, _numbered(done, merged), nodes)


def _joined(tallies: Sequence[Tally]) -> tuple[Rows, list[int], tuple[str, ...]]:
    """All rows, with indices into one list of sets and one of nodes."""
    sets: dict[int, int] = {}
    nodes: dict[str, int] = {}
    parts = []
    for one in tallies:
        rows = one.rows.copy()
        of_set = [sets.setdefault(bits, len(sets)) for bits in one.sets]
        of_node = [nodes.setdefault(node, len(nodes)) for node in one.nodes]
        rows["ranks"] = np.array(of_set, dtype=np.uint32)[rows["ranks"]]
        rows["node"] = np.array(of_node, dtype=np.uint32)[rows["node"]]
        parts.append(rows)
    return np.concatenate(parts), list(sets), tuple(nodes)


def _union(sets: Sequence[int], number: Column, group: Column, count: int) -> list[int]:
    """Of each group the union of the sets with these numbers. O(different pairs)."""
    merged = [0] * count
    pairs = np.unique(group.astype(np.int64) * len(sets) + number)
    for pair in pairs.tolist():
        merged[pair // len(sets)] |= sets[pair % len(sets)]
    return merged


def bounded(one: Tally, kept: Collection[int]) -> Tally:
    """The rows of the kept templates; all others added up under OTHER."""
    fits = np.isin(one.rows["template"], np.array([*kept, OTHER], dtype=np.int64))
    if fits.all():
        return one
    rows = one.rows.copy()
    rows["template"][~fits] = OTHER
    return _added(rows, one.sets, one.nodes)


def most_frequent(one: Tally, most: int) -> list[int]:
    """The `most` templates with the most lines, without OTHER; of equals the lowest ids."""
    whole = fold([one], whole=True).rows
    whole = whole[whole["template"] != OTHER]
    order = np.lexsort((whole["template"], -whole["lines"]))
    return [int(template) for template in whole["template"][order[:most]]]
