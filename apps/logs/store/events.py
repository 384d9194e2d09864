"""Rows of warnings and errors, which pages and the first-failure rule read by an index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.core.records import Severity
from apps.core.sql import copy_in
from apps.logs.domain.reading.columns import NO_RANK, NO_STEP, LineColumns
from apps.logs.domain.reading.segments import CONSOLE, TEE
from apps.logs.domain.triage.faultlines import LineFaults

MAX_EVENT_CHARS = 8_000

_EVENT = {
    "run_id": "int8",
    "attempt": "int4",
    "node": "varchar",
    "source_id": "int8",
    "seq": "int8",
    "channel": "varchar",
    "time_ns": "int8",
    "local_rank": "int4",
    "rank": "int4",
    "severity": "int2",
    "step": "int8",
    "fault_class": "varchar",
    "taxonomy": "varchar",
    "message_at": "int4",
    "text": "text",
}

Place = tuple[int, int, str]
"""(run, attempt, node)"""


@dataclass(frozen=True, slots=True)
class EventRows:
    """Serious lines of a batch. triable: one of them may change a verdict."""

    rows: Iterable[Sequence[Any]] = ()
    triable: bool = False


def events_of(
    place: Place,
    lines: LineColumns,
    source: NDArray[np.int64],
    faults: LineFaults,
    *,
    with_files: bool,
) -> EventRows:
    """The serious lines of a batch.

    source: id of the file of each line. with_files: the node sends files of ranks, and lines of
    its console that repeat them get no row. About 15 microseconds a row.
    """
    numbers = _serious(lines, faults, with_files=with_files)
    if not len(numbers):
        return EventRows()
    texts = lines.several(numbers)
    classes = [faults.by_line.get(number) for number in numbers.tolist()]
    given = [None if fault is None else fault.id for fault in classes]
    severity = lines.severity[numbers].tolist()
    origins = [lines.origins[at] for at in lines.origin[numbers].tolist()]
    columns = (
        *map(repeat, place),
        source[numbers].tolist(),
        lines.seq[numbers].tolist(),
        [origin.channel for origin in origins],
        lines.time_ns[numbers].tolist(),
        [origin.local_rank for origin in origins],
        [None if rank == NO_RANK else rank for rank in lines.rank[numbers].tolist()],
        severity,
        [None if step == NO_STEP else step for step in lines.step[numbers].tolist()],
        given,
        repeat(faults.taxonomy),
        _in_characters(texts, lines.message_at[numbers].tolist()),
        [text[:MAX_EVENT_CHARS] for text in texts],
    )
    triable = max(severity) >= Severity.ERROR or any(fault is not None for fault in given)
    return EventRows(zip(*columns, strict=False), triable)


def add_events(batches: Sequence[EventRows]) -> None:
    """Stores serious lines, in the caller's transaction."""
    rows = chain.from_iterable(batch.rows for batch in batches)
    first = next(rows, None)
    if first is not None:
        copy_in("logs_event", _EVENT, chain([first], rows))


def _serious(lines: LineColumns, faults: LineFaults, *, with_files: bool) -> NDArray[np.intp]:
    """Numbers of the warnings and errors. Of a traceback the first and the last line, and those
    that a class of the project took."""
    serious = lines.severity >= Severity.WARNING
    if with_files:
        serious &= ~lines.of_channel(TEE)
    numbers = np.flatnonzero(serious)
    whole = ~lines.frames(numbers) | lines.of_channel(CONSOLE)[numbers]
    return numbers[whole | np.isin(numbers, faults.own)]


def _in_characters(texts: Sequence[str], at: Sequence[int]) -> list[int]:
    """Places in bytes as places in characters."""
    return [
        place if text.isascii() else len(text.encode("utf-8", "replace")[:place].decode())
        for text, place in zip(texts, at, strict=True)
    ]
