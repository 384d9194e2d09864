"""What is known of each process of an attempt from its lines: last line, last step, how much.

A process is a slot of a node: its local rank, or its global rank where no local one is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apps.core.records import Severity
from apps.logs.domain.reading.columns import NO_RANK, NO_STEP, LineColumns
from apps.logs.domain.reading.facts import Placement
from apps.logs.domain.reading.segments import TEE

MAX_LAST_TEXT_CHARS = 500

SlotKey = tuple[str, str]
Numbers = NDArray[np.int64]


@dataclass(slots=True)
class RankState:
    """One process. node: "" if unknown. lines: of its own files; copies: of consoles.

    last_*: of its newest line. progress_*: where its newest step line stands (source "" = none).
    pace_ns: time between its newest two step lines.
    """

    node: str
    slot: str
    rank: int | None = None
    local_rank: int | None = None
    pid: int | None = None
    world_size: int | None = None
    lines: int = 0
    copies: int = 0
    worst_severity: int = 0
    last_ns: int | None = None
    last_text: str = ""
    last_step: int | None = None
    progress_ns: int | None = None
    progress_source: str = ""
    progress_seq: int = 0
    pace_ns: int | None = None


def slot_of(local_rank: int | None, rank: int | None) -> str | None:
    """Name of a process on its node, or None for a line that is no process's."""
    if local_rank is not None:
        return f"local:{local_rank}"
    return f"rank:{rank}" if rank is not None else None


def fold_lines(states: dict[SlotKey, RankState], node: str, lines: LineColumns) -> set[SlotKey]:
    """Take the lines of one node into the states of their processes; the keys that changed."""
    touched: set[SlotKey] = set()
    for numbers in _by_process(lines):
        last = int(numbers[-1])
        origin, rank = lines.origin_of(last), int(lines.rank[last])
        slot = slot_of(origin.local_rank, None if rank == NO_RANK else rank)
        if slot is not None:
            state = states.setdefault((node, slot), RankState(node, slot))
            _fold(state, lines, numbers)
            touched.add((node, slot))
    return touched


def _by_process(lines: LineColumns) -> list[Numbers]:
    """Line numbers by file and process, in order of their first lines. A process is a local rank
    of a file, or a rank where the file has no local one."""
    if not len(lines):
        return []
    rank = np.where(lines.local_rank == NO_RANK, lines.rank, NO_RANK).astype(np.int64)
    key = lines.origin.astype(np.int64) << 32 | (rank - NO_RANK)
    order = np.argsort(key, kind="stable")
    cuts = np.flatnonzero(np.diff(key[order])) + 1
    return sorted(np.split(order, cuts), key=lambda numbers: int(numbers[0]))


def _fold(state: RankState, lines: LineColumns, numbers: Numbers) -> None:
    last = int(numbers[-1])
    origin, rank = lines.origin_of(last), int(lines.rank[last])
    if origin.channel == TEE:
        state.copies += len(numbers)
    else:
        state.lines += len(numbers)
    state.local_rank = origin.local_rank if state.local_rank is None else state.local_rank
    state.rank = rank if rank != NO_RANK else state.rank
    state.worst_severity = max(state.worst_severity, int(lines.severity[numbers].max()))
    spoken = next((n for n in reversed(numbers.tolist()) if lines.text(n).strip()), None)
    if spoken is not None and lines.time_ns[spoken] >= (state.last_ns or 0):
        state.last_ns = int(lines.time_ns[spoken])
        state.last_text = lines.text(spoken)[:MAX_LAST_TEXT_CHARS]
    _fold_step(state, lines, numbers)


def _fold_step(state: RankState, lines: LineColumns, numbers: Numbers) -> None:
    told = (lines.step[numbers] != NO_STEP) & (lines.severity[numbers] < Severity.ERROR)
    steps = numbers[told]
    if not len(steps):
        return
    newest = int(steps[-1])
    newest_ns = int(lines.time_ns[newest])
    before = int(lines.time_ns[steps[-2]]) if len(steps) > 1 else state.progress_ns
    if newest_ns < (state.progress_ns or 0):
        return
    if before is not None and newest_ns > before:
        state.pace_ns = newest_ns - before
    state.last_step = int(lines.step[newest])
    state.progress_ns = newest_ns
    state.progress_source = lines.origin_of(newest).source
    state.progress_seq = int(lines.seq[newest])


def fold_placements(
    states: dict[SlotKey, RankState], node: str, placements: Iterable[Placement]
) -> set[SlotKey]:
    """Take rank, pid and world size that processes printed; the keys that changed."""
    touched: set[SlotKey] = set()
    for fact in placements:
        slot = slot_of(fact.local_rank, fact.rank)
        if slot is None:
            continue
        state = states.setdefault((node, slot), RankState(node, slot))
        state.rank, state.local_rank = fact.rank, fact.local_rank
        state.pid = fact.pid if fact.pid is not None else state.pid
        state.world_size = fact.world_size or state.world_size
        touched.add((node, slot))
    return touched
