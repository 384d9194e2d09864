"""Hours of nodes: what a batch adds, and reading them back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from apps.core.sql import execute, query, query_bytes
from apps.logs.domain.clock.pulse import (
    PulseColumns,
    PulseHour,
    fold,
    merge,
    pack,
    unpack,
    unpack_all,
)
from apps.logs.domain.clock.timeline import NodeHours
from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.segments import TEE

MAX_HOURS_READ = 400_000
HOURS_AT_ONCE = 2_048
_OF = "p.run_id = %s AND p.attempt = %s AND p.node = n.node AND p.hour = n.hour"
# -- both use the primary key
_LOCK = f"""
    SELECT p.node, p.hour, p.body FROM unnest(%s::text[], %s::int4[]) AS n (node, hour)
      JOIN logs_pulsehour AS p ON {_OF}
     ORDER BY p.node, p.hour FOR UPDATE OF p
"""  # noqa: S608 - names of this module only
_SAVE = f"""
    UPDATE logs_pulsehour AS p SET body = n.body
      FROM unnest(%s::text[], %s::int4[], %s::bytea[]) AS n (node, hour, body)
     WHERE {_OF}
"""  # noqa: S608 - names of this module only
_ADD = """
    INSERT INTO logs_pulsehour (run_id, attempt, node, hour, body)
    SELECT %s, %s, n.node, n.hour, n.body
      FROM unnest(%s::text[], %s::int4[], %s::bytea[]) AS n (node, hour, body)
    ON CONFLICT DO NOTHING RETURNING node, hour
"""
_NOTE = """
    INSERT INTO logs_ranknode (run_id, attempt, node, rank)
    SELECT %s, %s, n.node, n.rank FROM unnest(%s::text[], %s::int4[]) AS n (node, rank)
    ON CONFLICT DO NOTHING
"""
NodeHour = tuple[str, int]
"""(node, hour)"""
# -- uses the primary key
_READ = """
    SELECT p.node, p.hour, p.body, p.attempt FROM logs_pulsehour AS p
     WHERE p.run_id = %s AND (%s::int4 IS NULL OR p.attempt = %s) AND p.hour BETWEEN %s AND %s
     ORDER BY p.attempt, p.node, p.hour LIMIT %s
"""
# -- uses the primary key
_READ_WINDOWS = """
    SELECT p.node, p.hour, p.body, p.attempt
      FROM unnest(%s::int4[], %s::int8[], %s::int8[]) AS w (attempt, first, last)
      JOIN logs_pulsehour AS p
        ON p.run_id = %s AND p.attempt = w.attempt AND p.hour BETWEEN w.first AND w.last
     ORDER BY p.attempt, p.node, p.hour LIMIT %s
"""
_WITH_FILES = """
    SELECT DISTINCT attempt, node FROM logs_ranklog
     WHERE run_id = %s AND lines > 0 AND (%s::int4 IS NULL OR attempt = %s)
"""


def pulse_of(lines: LineColumns) -> dict[int, PulseHour]:
    """What is counted of lines of one node, by hour. About 0.1 microseconds a line."""
    return fold(_columns(lines))


def add_pulse(run_id: int, attempt: int, new: Mapping[NodeHour, PulseHour]) -> None:
    """Adds what was counted at nodes of an attempt; in the caller's transaction, rows locked by
    node and hour. Of HOURS_AT_ONCE two statements if they are known, three for new ones."""
    keys = sorted(new)
    for at in range(0, len(keys), HOURS_AT_ONCE):
        _add_some((run_id, attempt), {key: new[key] for key in keys[at : at + HOURS_AT_ONCE]})


def _add_some(place: tuple[int, int], new: Mapping[NodeHour, PulseHour]) -> None:
    known = _locked(place, list(new))
    fresh = {key: pack(block) for key, block in new.items() if key not in known}
    added = _inserted(place, fresh) if fresh else set()
    late = sorted(fresh.keys() - added)
    if late:  # somebody else made the row since
        known |= _locked(place, late)
    before = {key: unpack(body) for key, body in known.items()}
    if before:
        bodies = [pack(merge(block, new[key])) for key, block in before.items()]
        execute(_SAVE, [*_columns_of(before), bodies, *place])
    _note_ranks(place, new, before)


def _note_ranks(
    place: tuple[int, int],
    added: Mapping[NodeHour, PulseHour],
    before: Mapping[NodeHour, PulseHour],
) -> None:
    """Where the ranks of lines came from. Those of an hour that is known were noted then."""
    new = sorted(_ranks(added) - _ranks(before))
    if new:
        execute(_NOTE, [*place, *map(list, zip(*new, strict=True))])


def _ranks(blocks: Mapping[NodeHour, PulseHour]) -> set[tuple[str, int]]:
    """(node, rank)"""
    return {(node, rank) for (node, _), one in blocks.items() for rank in one.ranks.tolist()}


def _locked(place: tuple[int, int], keys: Sequence[NodeHour]) -> dict[NodeHour, bytes]:
    rows = query(_LOCK, [*_columns_of(keys), *place])
    return {(node, hour): bytes(body) for node, hour, body in rows}


def _inserted(place: tuple[int, int], fresh: Mapping[NodeHour, bytes]) -> set[NodeHour]:
    rows = query(_ADD, [*place, *_columns_of(fresh), list(fresh.values())])
    return {(node, hour) for node, hour in rows}


def _columns_of(keys: Collection[NodeHour]) -> tuple[list[str], list[int]]:
    return [node for node, _ in keys], [hour for _, hour in keys]


def _columns(lines: LineColumns) -> PulseColumns:
    return PulseColumns(
        time_ns=lines.time_ns,
        severity=lines.severity.astype(np.int64),
        rank=lines.rank.astype(np.int64),
        step=lines.step,
        copied=lines.of_channel(TEE),
    )


def hour_span(run_id: int, attempt: int | None) -> tuple[int, int] | None:
    """First and last hour that has a line; None if none has. -- uses the primary key"""
    sql = """
        SELECT min(hour), max(hour) FROM logs_pulsehour
         WHERE run_id = %s AND (%s::int4 IS NULL OR attempt = %s)
    """
    first, last = query(sql, [run_id, attempt, attempt])[0]
    return None if first is None else (first, last)


def node_hours(run_id: int, attempt: int | None, first: int, last: int) -> Iterator[NodeHours]:
    """The hours of all nodes from `first` to `last`; of all attempts if it is None.

    Console copies count on nodes that sent no rank files. At most MAX_HOURS_READ, a few at a time:
    they are 4 KB unpacked, and more for nodes of more than eight ranks.
    """
    rows = query_bytes(_READ, [run_id, attempt, attempt, first, last, MAX_HOURS_READ])
    yield from _unpacked(rows, _with_files(run_id, attempt))


def attempt_hours(
    run_id: int, windows: Mapping[int, tuple[int, int]]
) -> Iterator[tuple[int, Iterator[NodeHours]]]:
    """The same for several attempts, each from its first to its last hour: (attempt, its hours) of
    those with lines, by attempt. Two statements; read each attempt before the next."""
    if not windows:
        return
    ends = (list(column) for column in zip(*windows.values(), strict=True))
    rows = query_bytes(_READ_WINDOWS, [list(windows), *ends, run_id, MAX_HOURS_READ])
    files = _with_files(run_id, None) if rows else set()
    for attempt, own in groupby(rows, key=itemgetter(3)):
        yield attempt, _unpacked(list(own), files)


def _with_files(run_id: int, attempt: int | None) -> set[tuple[int, str]]:
    """(attempt, node) of the nodes that sent rank files."""
    return {(a, node) for a, node in query(_WITH_FILES, [run_id, attempt, attempt])}


def _unpacked(
    rows: Sequence[tuple[Any, ...]], with_files: Set[tuple[int, str]]
) -> Iterator[NodeHours]:
    for at in range(0, len(rows), HOURS_AT_ONCE):
        some = rows[at : at + HOURS_AT_ONCE]
        hour = np.array([row[1] for row in some], dtype=np.int64)
        copies = np.array([(row[3], row[0]) not in with_files for row in some], dtype=np.bool_)
        for blocks in unpack_all([row[2] for row in some]):
            node = [some[number][0] for number in blocks.numbers.tolist()]
            yield NodeHours(node, hour[blocks.numbers], copies[blocks.numbers], blocks)
