"""Writing lines: coverage of each file, chunks and event rows by COPY, states of the ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.core.records import MetricRow, Severity
from apps.core.sql import copy_in
from apps.logs.domain.chunks import encode_chunk
from apps.logs.domain.classify import taxonomy
from apps.logs.domain.coverage import accept
from apps.logs.domain.lines import CONSOLE, TEE, ParsedSegment
from apps.logs.domain.ranks import RankState, SlotKey, fold_lines, fold_placements
from apps.logs.domain.table import LineTable
from apps.logs.records import LinesWritten
from apps.logs.store import overview
from apps.logs.store.chunkrows import ChunkOwner, PackedChunk, add_chunks
from apps.logs.store.files import FileKey, OpenFile, lock_files, save_files
from apps.logs.store.pulse import add_pulse
from apps.logs.store.speakers import Told, of_speakers
from apps.logs.store.states import load_states, mark_dirty, save_states
from apps.logs.store.stepclocks import add_step_times
from apps.logs.store.templates import add_templates

MAX_CHUNK_LINES = 20_000
MAX_CHUNK_CHARS = 8 * 1024 * 1024
MAX_EVENT_CHARS = 8_000

_EVENT = {
    "run_id": "int8",
    "source_id": "int8",
    "seq": "int8",
    "attempt": "int4",
    "node": "varchar",
    "channel": "varchar",
    "time_ns": "int8",
    "local_rank": "int4",
    "rank": "int4",
    "severity": "int2",
    "step": "int8",
    "fault_class": "varchar",
    "message_at": "int4",
    "text": "text",
}


@dataclass(slots=True)
class _Batch:
    """A batch while it is written: what is new, and what it changed."""

    run_id: int
    attempt: int
    node: str
    batch_id: str
    files: dict[FileKey, OpenFile]
    states: dict[SlotKey, RankState]
    touched: set[SlotKey] = field(default_factory=set)
    tables: list[tuple[OpenFile, LineTable]] = field(default_factory=list)
    rank_rows: list[MetricRow] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    gaps: int = 0
    skipped: int = 0


def write_lines(
    run_id: int,
    attempt: int,
    node: str | None,
    segments: Sequence[ParsedSegment],
    *,
    batch_id: str,
) -> LinesWritten:
    """Stores the new lines of one node's batch; in the caller's transaction.

    Bytes that are stored already are skipped line by line, also in another batching; a jump in a
    file is kept as a gap until its bytes come. Files are locked in id order.
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
        _take(batch, segment)
    _fill_ranks(batch)
    for _, table in batch.tables:
        batch.touched |= fold_lines(batch.states, place, table)
    save_files(run_id, batch.files.values())
    save_states(run_id, attempt, [batch.states[key] for key in batch.touched])
    _copy_chunks(batch)
    add_pulse(run_id, attempt, place, [table for _, table in batch.tables])
    add_step_times(run_id, attempt, place, [table for _, table in batch.tables])
    add_templates(run_id, attempt, place, _counted(batch))
    triable = _copy_events(batch)
    mark_dirty(run_id, attempt, new_events=triable, new_lines=bool(batch.tables))
    return _summary(batch, late_before_ns)


def _take(batch: _Batch, segment: ParsedSegment) -> None:
    """The new lines of one segment into the batch."""
    file = batch.files[(segment.meta.source, segment.meta.generation)]
    lines = segment.lines
    done = accept(file.coverage, segment.meta.offset, segment.end, lines.seq)
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
        lines.seq = list(done.seq)
        if file.generation:
            lines.source = f"{file.name}#{file.generation}"
        file.lines += len(lines)
        file.last_ns = max(lines.time_ns[-1], file.last_ns or 0)
        batch.tables.append((file, lines))


def _take_numbers(batch: _Batch, segment: ParsedSegment, keep: Sequence[int]) -> None:
    """What the lines that are new tell in numbers."""
    ranks, jobs = zip(segment.metrics, segment.metric_lines, strict=True), segment.job
    told = (Told(segment.meta.source, segment.meta.local_rank, job) for job in jobs)
    if len(keep) == len(segment.lines):
        batch.rank_rows += segment.metrics
        batch.told += told
        return
    kept = set(keep)
    batch.rank_rows += [row for row, line in ranks if line in kept]
    batch.told += [one for one in told if one.job.line in kept]


def _fill_ranks(batch: _Batch) -> None:
    """Lines of a process whose rank is known by now get it, also in consoles."""
    known = {s.local_rank: s.rank for s in batch.states.values() if s.local_rank is not None}
    for _, table in batch.tables:
        known.update(
            (local, rank)
            for local, rank in zip(table.local_rank, table.rank, strict=True)
            if local is not None and rank is not None
        )
    for _, table in batch.tables:
        if None in table.rank:
            table.rank = [
                known.get(local) if rank is None and local is not None else rank
                for rank, local in zip(table.rank, table.local_rank, strict=True)
            ]


def _counted(batch: _Batch) -> list[LineTable]:
    """The lines whose templates are counted: no console copies of rank files."""
    tables = [table for _, table in batch.tables]
    if not any(state.lines for state in batch.states.values()):
        return tables
    return [
        table.select([n for n, channel in enumerate(table.channel) if channel != TEE])
        if TEE in table.channel
        else table
        for table in tables
    ]


def _copy_chunks(batch: _Batch) -> None:
    owner = ChunkOwner(batch.run_id, batch.attempt, batch.node, batch.batch_id)
    portions = _portions([table for _, table in batch.tables])
    add_chunks([_packed(owner, tables) for tables in portions])


def _packed(owner: ChunkOwner, tables: Sequence[LineTable]) -> PackedChunk:
    header, body = encode_chunk(tables)
    return PackedChunk(owner, header, sum(table.channel.count(TEE) for table in tables), body)


def _portions(tables: Sequence[LineTable]) -> Iterable[list[LineTable]]:
    """Tables in groups that fit a chunk; a table too big for one is cut."""
    group: list[LineTable] = []
    lines = chars = 0
    for table in tables:
        for piece in _pieces(table):
            size = sum(map(len, piece.text))
            if group and (lines + len(piece) > MAX_CHUNK_LINES or chars + size > MAX_CHUNK_CHARS):
                yield group
                group, lines, chars = [], 0, 0
            group.append(piece)
            lines += len(piece)
            chars += size
    if group:
        yield group


def _pieces(table: LineTable) -> Iterable[LineTable]:
    if len(table) <= MAX_CHUNK_LINES and sum(map(len, table.text)) <= MAX_CHUNK_CHARS:
        return (table,)
    start = size = 0
    cuts = []
    for number, text in enumerate(table.text):
        if number - start >= MAX_CHUNK_LINES or size + len(text) > MAX_CHUNK_CHARS:
            cuts.append((start, number))
            start, size = number, 0
        size += len(text)
    return [table[a:b] for a, b in (*cuts, (start, len(table))) if a < b]


def _copy_events(batch: _Batch) -> bool:
    """Rows of warnings and errors; whether one of them may change a verdict."""
    with_files = any(state.lines for state in batch.states.values())
    rows = [
        _event_row(batch, file, table, number)
        for file, table in batch.tables
        for number, severity in enumerate(table.severity)
        if severity >= Severity.WARNING and not _has_no_row(table, number, with_files)
    ]
    if rows:
        copy_in("logs_event", _EVENT, rows)
    return any(row[9] >= Severity.ERROR or row[11] is not None for row in rows)


def _has_no_row(table: LineTable, number: int, with_files: bool) -> bool:
    channel = table.channel[number]
    if channel == TEE and with_files:
        return True
    return channel != CONSOLE and table.is_frame(number)


def _event_row(batch: _Batch, file: OpenFile, table: LineTable, number: int) -> tuple[Any, ...]:
    fault = taxonomy().classify(table.message(number))
    return (
        batch.run_id,
        file.source_id,
        table.seq[number],
        batch.attempt,
        batch.node,
        table.channel[number],
        table.time_ns[number],
        table.local_rank[number],
        table.rank[number],
        int(table.severity[number]),
        table.step[number],
        fault.id if fault is not None else None,
        table.message_at[number],
        table.text[number][:MAX_EVENT_CHARS],
    )


def _summary(batch: _Batch, late_before_ns: int | None) -> LinesWritten:
    rows = of_speakers(batch.run_id, batch.attempt, batch.node, batch.told)
    severities = [s for _, table in batch.tables for s in table.severity]
    steps = [s for _, table in batch.tables for s in table.step if s is not None]
    return LinesWritten(
        lines=len(severities),
        errors=sum(s >= Severity.ERROR for s in severities),
        warnings=sum(s == Severity.WARNING for s in severities),
        gaps=batch.gaps,
        skipped_lines=batch.skipped,
        late_lines=_late(batch, late_before_ns),
        last_ns=max((t for _, table in batch.tables for t in table.time_ns), default=None),
        last_step=max(steps, default=None),
        rank_rows=tuple(batch.rank_rows),
        job_rows=rows,
        job_copies=len(batch.told) - len(rows),
    )


def _late(batch: _Batch, before_ns: int | None) -> int:
    """How many of the new lines are older than `before_ns`."""
    if before_ns is None:
        return 0
    times = (table.time_ns for _, table in batch.tables)
    return sum(sum(t < before_ns for t in some) for some in times if min(some) < before_ns)
