"""One node while its lines are written: its files and processes, and what is counted of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from apps.core.records import MetricRow
from apps.logs.domain.chunk.coverage import accept
from apps.logs.domain.clock.pulse import PulseHour, merge
from apps.logs.domain.reading.columns import NO_RANK, LineColumns
from apps.logs.domain.reading.latejobs import Told, told_in
from apps.logs.domain.reading.segments import ParsedSegment, SegmentMeta
from apps.logs.domain.triage.ranks import RankState, SlotKey, fold_lines, fold_placements
from apps.logs.store.files import (
    FileContext,
    FileKey,
    OpenFile,
    add_files,
    lock_files,
    save_files,
)
from apps.logs.store.pulse import add_pulse, pulse_of
from apps.logs.store.states import load_states, save_states
from apps.logs.store.stepclocks import add_step_times, step_times_of


@dataclass(slots=True)
class NewLines:
    """What of a batch is new. sources: source id of each of `tables`. moved: one came with another
    place in its file than the one it has here."""

    tables: list[LineColumns] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    rank_rows: list[MetricRow] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    gaps: int = 0
    skipped: int = 0
    moved: bool = False

    def source_of_lines(self) -> NDArray[np.int64]:
        """Id of the file of each line."""
        return np.repeat(np.array(self.sources), [len(table) for table in self.tables])


class NodeLines:
    """Batches of one node are taken one after the other; save_all() writes what they changed.

    Two statements, however many batches there are. Files are locked in id order. hours: what was
    counted in each; step_times: of batches one after the other.
    """

    def __init__(self, run_id: int, attempt: int, node: str) -> None:
        self._place = (run_id, attempt, node)
        self._files: dict[FileKey, OpenFile] = {}
        self._looked_at: set[str] = set()
        self._changed: set[FileKey] = set()
        self._states = load_states(run_id, attempt, node)
        self._touched: set[SlotKey] = set()
        self.hours: dict[int, PulseHour] = {}
        self.step_times: list[bytes] = []

    def contexts(self, names: Sequence[str]) -> Mapping[FileKey, FileContext]:
        """What the stored and the taken parts of the files with these names leave open."""
        wanted = set(names)
        self._look_at(wanted)
        return {key: file.context() for key, file in self._files.items() if key[0] in wanted}

    def accept(self, segments: Sequence[ParsedSegment], *, named: bool) -> NewLines:
        """The new lines of a batch. named: they bear the name of their file and generation."""
        self._open([segment.meta for segment in segments])
        new = NewLines()
        for segment in segments:
            self._take(new, segment, named=named)
        return new

    def fill_ranks(self, lines: LineColumns) -> bool:
        """Lines of a process whose rank is known by now get it, also in consoles; whether one
        did."""
        local, filled = lines.local_rank, False
        named = np.flatnonzero((local != NO_RANK) & (lines.rank != NO_RANK))
        states = self._states.values()
        known = {state.local_rank: state.rank for state in states if state.local_rank is not None}
        for process in np.unique(local[named]).tolist():
            known[process] = int(lines.rank[named[local[named] == process][-1]])
        nameless = (local != NO_RANK) & (lines.rank == NO_RANK)
        for process in np.unique(local[nameless]).tolist():
            if (rank := known.get(process)) is not None:
                lines.rank[nameless & (local == process)] = rank
                filled = True
        return filled

    def fold(self, lines: LineColumns) -> None:
        """Counts lines, which are as they are stored."""
        self._touched |= fold_lines(self._states, self._place[2], lines)
        for hour, block in pulse_of(lines).items():
            before = self.hours.get(hour)
            self.hours[hour] = block if before is None else merge(before, block)
        self.step_times.append(step_times_of(lines))

    @property
    def with_files(self) -> bool:
        """Whether the node sends files of ranks, which its console repeats."""
        return any(state.lines for state in self._states.values())

    @property
    def changed_files(self) -> list[OpenFile]:
        """Files of which lines came."""
        return [self._files[key] for key in sorted(self._changed)]

    @property
    def changed_states(self) -> list[RankState]:
        """Processes of which lines came, or that said where they run."""
        return [self._states[key] for key in sorted(self._touched)]

    def _look_at(self, names: set[str]) -> None:
        new = names - self._looked_at
        if new:
            self._files |= lock_files(*self._place, sorted(new))
            self._looked_at |= new

    def _open(self, metas: Sequence[SegmentMeta]) -> None:
        """The files of these segments, made if they are new."""
        self._look_at({meta.source for meta in metas})
        new = [meta for meta in metas if (meta.source, meta.generation) not in self._files]
        if new:
            add_files(*self._place, new)
            made = lock_files(*self._place, sorted({meta.source for meta in new}))
            self._files |= {key: file for key, file in made.items() if key not in self._files}

    def _take(self, new: NewLines, segment: ParsedSegment, *, named: bool) -> None:
        """The new lines of one segment."""
        key = (segment.meta.source, segment.meta.generation)
        file, lines = self._files[key], LineColumns.of(segment.lines)
        self._changed.add(key)
        done = accept(file.coverage, segment.meta.offset, segment.end, lines.seq.tolist())
        new.gaps += done.opened is not None
        new.skipped += len(lines) - len(done.keep)
        file.skipped_lines += len(lines) - len(done.keep)
        file.coverage = done.coverage
        if done.keep and segment.end == done.coverage.end:
            file.carry = segment.carry.packed()
        self._touched |= fold_placements(self._states, self._place[2], segment.placements)
        _take_numbers(new, segment, done.keep)
        if len(done.keep) < len(lines):
            lines = lines.select(done.keep)
        if len(lines):
            seq = np.array(done.seq, dtype=np.int64)
            new.moved |= not np.array_equal(seq, lines.seq)
            lines.seq = seq
            _add_table(new, file, lines, named=named)


def save_all(run_id: int, attempt: int, nodes: Mapping[str, NodeLines]) -> None:
    """Writes all that batches of nodes changed: six statements, however many nodes there are."""
    by_name = sorted(nodes.items())
    save_files(run_id, [file for _, node in by_name for file in node.changed_files])
    save_states(run_id, attempt, [state for _, node in by_name for state in node.changed_states])
    hours = {(name, hour): one for name, node in by_name for hour, one in node.hours.items()}
    add_pulse(run_id, attempt, hours)
    add_step_times(run_id, attempt, {name: b"".join(node.step_times) for name, node in by_name})


def _add_table(new: NewLines, file: OpenFile, lines: LineColumns, *, named: bool) -> None:
    if file.generation and not named:
        lines.rename(f"{file.name}#{file.generation}")
    file.lines += len(lines)
    file.last_ns = max(int(lines.time_ns[-1]), file.last_ns or 0)
    new.sources.append(file.source_id)
    new.tables.append(lines)


def _take_numbers(new: NewLines, segment: ParsedSegment, keep: Sequence[int]) -> None:
    """What the lines that are new tell in numbers."""
    meta, kept = segment.meta, None if len(keep) == len(segment.lines) else set(keep)
    new.told += told_in(meta.source, meta.local_rank, segment.job, kept)
    ranks = zip(segment.metrics, segment.metric_lines, strict=True)
    new.rank_rows += [row for row, line in ranks if kept is None or line in kept]
