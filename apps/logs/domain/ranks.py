"""What is known of each process of an attempt from its lines: last line, last step, how much.

A process is a slot of a node: its local rank, or its global rank where no local one is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.core.records import Severity
from apps.logs.domain.facts import Placement
from apps.logs.domain.table import LineTable

MAX_LAST_TEXT_CHARS = 500

SlotKey = tuple[str, str]


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


def fold_lines(states: dict[SlotKey, RankState], node: str, table: LineTable) -> set[SlotKey]:
    """Take the lines of one file into the states of their processes; the keys that changed."""
    touched: set[SlotKey] = set()
    for (local_rank, copied), numbers in _by_process(table).items():
        for rank, members in _by_rank(table, numbers, local_rank):
            slot = slot_of(local_rank, rank)
            if slot is not None:
                state = states.setdefault((node, slot), RankState(node, slot))
                _fold(state, table, members, copied)
                touched.add((node, slot))
    return touched


def _by_process(table: LineTable) -> dict[tuple[int | None, bool], Sequence[int]]:
    """Line numbers by (local rank, whether they are console copies); the usual file has one."""
    kinds = set(zip(table.local_rank, table.channel, strict=True))
    if len(kinds) == 1:
        ((local_rank, channel),) = kinds
        return {(local_rank, channel == "tee"): range(len(table))}
    groups: dict[tuple[int | None, bool], list[int]] = {}
    for number, (local_rank, channel) in enumerate(
        zip(table.local_rank, table.channel, strict=True)
    ):
        groups.setdefault((local_rank, channel == "tee"), []).append(number)
    return dict(groups)


def _by_rank(
    table: LineTable, numbers: Sequence[int], local_rank: int | None
) -> Iterable[tuple[int | None, Sequence[int]]]:
    """Lines of a file without local rank, by the rank each line names."""
    if local_rank is not None:
        return [(table.rank[numbers[-1]], numbers)]
    groups: dict[int | None, list[int]] = {}
    for number in numbers:
        groups.setdefault(table.rank[number], []).append(number)
    return groups.items()


def _fold(state: RankState, table: LineTable, numbers: Sequence[int], copied: bool) -> None:
    if copied:
        state.copies += len(numbers)
    else:
        state.lines += len(numbers)
    last = numbers[-1]
    state.local_rank = table.local_rank[last] if state.local_rank is None else state.local_rank
    state.rank = table.rank[last] if table.rank[last] is not None else state.rank
    worst = max(map(table.severity.__getitem__, numbers))
    state.worst_severity = max(state.worst_severity, worst)
    spoken = next((n for n in reversed(numbers) if table.text[n].strip()), None)
    if spoken is not None and table.time_ns[spoken] >= (state.last_ns or 0):
        state.last_ns = table.time_ns[spoken]
        state.last_text = table.text[spoken][:MAX_LAST_TEXT_CHARS]
    _fold_step(state, table, numbers)


def _fold_step(state: RankState, table: LineTable, numbers: Sequence[int]) -> None:
    steps = [
        number
        for number in numbers
        if table.step[number] is not None and table.severity[number] < Severity.ERROR
    ]
    if not steps:
        return
    newest = steps[-1]
    before = table.time_ns[steps[-2]] if len(steps) > 1 else state.progress_ns
    if table.time_ns[newest] < (state.progress_ns or 0):
        return
    if before is not None and table.time_ns[newest] > before:
        state.pace_ns = table.time_ns[newest] - before
    state.last_step = table.step[newest]
    state.progress_ns = table.time_ns[newest]
    state.progress_source = table.source
    state.progress_seq = table.seq[newest]


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
