"""Writing lines: coverage of each file, chunks and event rows by COPY, states of the ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from apps.core.records import MetricRow, Severity
from apps.logs.domain.chunk.chunkheads import header_of
from apps.logs.domain.chunk.chunks import pack_chunk
from apps.logs.domain.chunk.coverage import accept
from apps.logs.domain.pattern.linetemplates import templates_of
from apps.logs.domain.reading.columns import NO_RANK, NO_STEP, LineColumns, joined
from apps.logs.domain.reading.latejobs import Told, told_in
from apps.logs.domain.reading.segments import TEE, ParsedSegment
from apps.logs.domain.triage.faultlines import faults_in, raise_severity
from apps.logs.domain.triage.ranks import RankState, SlotKey, fold_lines, fold_placements
from apps.logs.records import LinesWritten
from apps.logs.store import overview
from apps.logs.store.chunkrows import ChunkOwner, PackedChunk, add_chunks
from apps.logs.store.events import add_events
from apps.logs.store.faultclasses import add_unread, taxonomy_of_run
from apps.logs.store.files import FileKey, OpenFile, lock_files, save_files
from apps.logs.store.pulse import add_pulse
from apps.logs.store.speakers import of_speakers
from apps.logs.store.states import load_states, mark_dirty, save_states
from apps.logs.store.stepclocks import add_step_times
from apps.logs.store.templates import add_templates

MAX_CHUNK_LINES = 20_000
MAX_CHUNK_BYTES = 8 * 1024 * 1024


@dataclass(slots=True)
class _Batch:
    """A batch while it is written: what is new, and what it changed. sources: source id of each
    of `tables`. lines: all of them."""

    run_id: int
    attempt: int
    node: str
    batch_id: str
    files: dict[FileKey, OpenFile]
    states: dict[SlotKey, RankState]
    touched: set[SlotKey] = field(default_factory=set)
    sources: list[int] = field(default_factory=list)
    tables: list[LineColumns] = field(default_factory=list)
    rank_rows: list[MetricRow] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    gaps: int = 0
    skipped: int = 0
    moved: bool = False


@dataclass(frozen=True, slots=True)
class PackedLines:
    """All lines of a batch, and the bytes of the chunk that they came as. template: of each line.

    Lines of a generation bear its number in the name of their file already.
    """

    lines: LineColumns
    template: NDArray[np.int64]
    chunk: bytes


def write_lines(
    run_id: int,
    attempt: int,
    node: str | None,
    segments: Sequence[ParsedSegment],
    *,
    batch_id: str,
    packed: PackedLines | None = None,
) -> LinesWritten:
    """Stores the new lines of one node's batch; in the caller's transaction.

    Bytes that are stored already are skipped line by line, also in another batching; a jump in a
    file is kept as a gap until its bytes come. Files are locked in id order.

    packed: the lines of the segments as they came; if all are new and nothing more is known of them
    here they are stored as they are.
    """
    if not segments:
        return LinesWritten()
    place = node or ""
    batch = _Batch(
        run_id=run_id,
        attempt=attempt,
        node=place,
        batch_id=batch_id[:128],
        files=lock_files(run_id, attempt, place, segments),
        states=load_states(run_id, attempt, place),
    )
    late_before_ns = overview.late_before_ns(run_id, attempt)
    for segment in segments:
        _take(batch, segment, named=packed is not None)
    whole = packed if not batch.skipped and not batch.moved else None
    lines = whole.lines if whole else joined(batch.tables)
    classes = taxonomy_of_run(run_id)
    faults = faults_in(lines, classes)
    raise_severity(lines, faults)
    if _fill_ranks(lines, batch.states.values()) or len(faults.own):
        whole = None
    batch.touched |= fold_lines(batch.states, place, lines)
    save_files(run_id, batch.files.values())
    save_states(run_id, attempt, [batch.states[key] for key in batch.touched])
    with_files = any(state.lines for state in batch.states.values())
    triable = False
    if len(lines):
        owner = ChunkOwner(run_id, attempt, place, batch.batch_id)
        add_unread(run_id, classes.revision, faults.unread)
        add_chunks(_chunks(owner, lines, whole))
        add_pulse(run_id, attempt, place, lines)
        add_step_times(run_id, attempt, place, lines)
        counted = _counted(lines, whole, with_files=with_files)
        add_templates(run_id, attempt, place, *counted)
        here = (run_id, attempt, place)
        triable = add_events(here, lines, _source_of(batch), faults, with_files=with_files)
    mark_dirty(run_id, attempt, new_events=triable, new_lines=bool(len(lines)))
    return _summary(batch, lines, late_before_ns)


def _take(batch: _Batch, segment: ParsedSegment, *, named: bool) -> None:
    """The new lines of one segment into the batch. named: they bear the name of their file and
    generation."""
    file = batch.files[(segment.meta.source, segment.meta.generation)]
    lines = LineColumns.of(segment.lines)
    done = accept(file.coverage, segment.meta.offset, segment.end, lines.seq.tolist())
    batch.gaps += done.opened is not None
    batch.skipped += len(lines) - len(done.keep)
    file.skipped_lines += len(lines) - len(done.keep)
    file.coverage = done.coverage
    if done.keep and segment.end == done.coverage.end:
        file.carry = segment.carry.packed()
    batch.touched |= fold_placements(batch.states, batch.node, segment.placements)
    _take_numbers(batch, segment, done.keep)
    if len(done.keep) < len(lines):
        lines = lines.select(done.keep)
    if len(lines):
        seq = np.array(done.seq, dtype=np.int64)
        batch.moved |= not np.array_equal(seq, lines.seq)
        lines.seq = seq
        if file.generation and not named:
            lines.rename(f"{file.name}#{file.generation}")
        file.lines += len(lines)
        file.last_ns = max(int(lines.time_ns[-1]), file.last_ns or 0)
        batch.sources.append(file.source_id)
        batch.tables.append(lines)


def _take_numbers(batch: _Batch, segment: ParsedSegment, keep: Sequence[int]) -> None:
    """What the lines that are new tell in numbers."""
    meta, kept = segment.meta, None if len(keep) == len(segment.lines) else set(keep)
    batch.told += told_in(meta.source, meta.local_rank, segment.job, kept)
    ranks = zip(segment.metrics, segment.metric_lines, strict=True)
    batch.rank_rows += [row for row, line in ranks if kept is None or line in kept]


def _fill_ranks(lines: LineColumns, states: Iterable[RankState]) -> bool:
    """Lines of a process whose rank is known by now get it, also in consoles; whether one did."""
    local, filled = lines.local_rank, False
    named = np.flatnonzero((local != NO_RANK) & (lines.rank != NO_RANK))
    known = {state.local_rank: state.rank for state in states if state.local_rank is not None}
    for process in np.unique(local[named]).tolist():
        known[process] = int(lines.rank[named[local[named] == process][-1]])
    nameless = (local != NO_RANK) & (lines.rank == NO_RANK)
    for process in np.unique(local[nameless]).tolist():
        if (rank := known.get(process)) is not None:
            lines.rank[nameless & (local == process)] = rank
            filled = True
    return filled


def _counted(
    lines: LineColumns, packed: PackedLines | None, *, with_files: bool
) -> tuple[LineColumns, NDArray[np.int64]]:
    """The lines whose templates are counted, which are no console copies of rank files; and their
    templates."""
    copies = lines.of_channel(TEE) if with_files else np.zeros(0, dtype=np.bool_)
    if not copies.any():
        return lines, packed.template if packed else templates_of(lines)
    own = lines.select(np.flatnonzero(~copies))
    return own, templates_of(own)


def _chunks(owner: ChunkOwner, lines: LineColumns, packed: PackedLines | None) -> list[PackedChunk]:
    if packed is not None:
        return [PackedChunk(owner, header_of(lines), _copies(lines), packed.chunk)]
    return [
        PackedChunk(owner, header_of(one), _copies(one), pack_chunk(one)) for one in _pieces(lines)
    ]


def _copies(lines: LineColumns) -> int:
    return int(np.count_nonzero(lines.of_channel(TEE)))


def _pieces(lines: LineColumns) -> Iterable[LineColumns]:
    """The lines in parts that fit a chunk, all of about the same size."""
    sizes = np.cumsum(lines.text_bytes)
    parts = max(-(-len(lines) // MAX_CHUNK_LINES), -(-int(sizes[-1]) // MAX_CHUNK_BYTES))
    bounds = [len(lines) * part // parts for part in range(parts + 1)]
    for start, end in pairwise(bounds):
        yield from _fitting(lines, sizes, start, end)


def _fitting(
    lines: LineColumns, sizes: NDArray[np.int64], start: int, end: int
) -> Iterable[LineColumns]:
    """One part, cut once more while it is too large: lines differ in length."""
    size = int(sizes[end - 1]) - (int(sizes[start - 1]) if start else 0)
    if size <= MAX_CHUNK_BYTES or end - start == 1:
        yield lines if end - start == len(lines) else lines.piece(start, end)
        return
    middle = (start + end) // 2
    yield from _fitting(lines, sizes, start, middle)
    yield from _fitting(lines, sizes, middle, end)


def _source_of(batch: _Batch) -> NDArray[np.int64]:
    """Id of the file of each line."""
    return np.repeat(np.array(batch.sources), [len(table) for table in batch.tables])


def _summary(batch: _Batch, lines: LineColumns, late_before_ns: int | None) -> LinesWritten:
    rows, copies = of_speakers(batch.run_id, batch.attempt, batch.node, batch.told)
    last_step = int(lines.step.max(initial=NO_STEP))
    late = None if late_before_ns is None else lines.time_ns < late_before_ns
    return LinesWritten(
        lines=len(lines),
        errors=int(np.count_nonzero(lines.severity >= Severity.ERROR)),
        warnings=int(np.count_nonzero(lines.severity == Severity.WARNING)),
        gaps=batch.gaps,
        skipped_lines=batch.skipped,
        late_lines=0 if late is None else int(np.count_nonzero(late)),
        last_ns=int(lines.time_ns.max()) if len(lines) else None,
        last_step=None if last_step == NO_STEP else last_step,
        rank_rows=tuple(batch.rank_rows),
        job_rows=rows,
        job_copies=copies,
    )
