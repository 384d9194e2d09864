"""Writing lines: batch by batch into files, chunks, events and counts, then all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from apps.core.records import MetricRow, Severity
from apps.logs.domain.chunk.chunkheads import header_of
from apps.logs.domain.chunk.chunks import pack_chunk
from apps.logs.domain.chunk.cutting import cut
from apps.logs.domain.pattern.linetemplates import templates_of
from apps.logs.domain.reading.columns import NO_STEP, LineColumns, joined
from apps.logs.domain.reading.segments import TEE, ParsedSegment
from apps.logs.domain.triage.faultlines import LineFaults, faults_in, raise_severity
from apps.logs.records import LinesWritten
from apps.logs.store import overview
from apps.logs.store.chunkrows import ChunkOwner, PackedChunk, add_chunks
from apps.logs.store.events import EventRows, add_events, events_of
from apps.logs.store.faultclasses import add_unread, taxonomy_of_run
from apps.logs.store.files import FileContext, FileKey
from apps.logs.store.nodelines import NewLines, NodeLines, save_all
from apps.logs.store.speakers import Speakers
from apps.logs.store.states import mark_dirty
from apps.logs.store.templates import TemplateCounts


@dataclass(frozen=True, slots=True)
class PackedLines:
    """All lines of a batch, and the bytes of the chunk that they came as. template: of each line.

    Lines of a generation bear its number in the name of their file already.
    """

    lines: LineColumns
    template: NDArray[np.int64]
    chunk: bytes


@dataclass(slots=True)
class _Written:
    """LinesWritten while batches are taken."""

    lines: int = 0
    errors: int = 0
    warnings: int = 0
    gaps: int = 0
    skipped: int = 0
    late: int = 0
    last_ns: int | None = None
    last_step: int = NO_STEP
    rank_rows: list[MetricRow] = field(default_factory=list)
    job_rows: list[MetricRow] = field(default_factory=list)
    job_copies: int = 0

    def add(self, new: NewLines, lines: LineColumns, late_before_ns: int | None) -> None:
        """The new lines of a batch, as they are stored."""
        self.gaps += new.gaps
        self.skipped += new.skipped
        self.rank_rows += new.rank_rows
        self.lines += len(lines)
        self.errors += int(np.count_nonzero(lines.severity >= Severity.ERROR))
        self.warnings += int(np.count_nonzero(lines.severity == Severity.WARNING))
        if late_before_ns is not None:
            self.late += int(np.count_nonzero(lines.time_ns < late_before_ns))
        if len(lines):
            self.last_ns = max(int(lines.time_ns.max()), self.last_ns or 0)
            self.last_step = max(int(lines.step.max()), self.last_step)

    def done(self) -> LinesWritten:
        return LinesWritten(
            lines=self.lines,
            errors=self.errors,
            warnings=self.warnings,
            gaps=self.gaps,
            skipped_lines=self.skipped,
            late_lines=self.late,
            last_ns=self.last_ns,
            last_step=None if self.last_step == NO_STEP else self.last_step,
            rank_rows=tuple(self.rank_rows),
            job_rows=tuple(self.job_rows),
            job_copies=self.job_copies,
        )


class LineWriter:
    """Lines of one attempt: batches are taken one after the other, and written by finish().

    In the caller's transaction, which holds the row of the run. A batch takes no statement of its
    own but for what is new in it; a node takes two, and all together take fifteen.
    """

    def __init__(self, run_id: int, attempt: int) -> None:
        self._place = (run_id, attempt)
        self._nodes: dict[str, NodeLines] = {}
        self._classes = taxonomy_of_run(run_id)
        self._speakers = Speakers(run_id, attempt)
        self._templates = TemplateCounts(run_id, attempt)
        self._late_before_ns = overview.late_before_ns(run_id, attempt)
        self._chunks: list[PackedChunk] = []
        self._events: list[EventRows] = []
        self._written = _Written()

    def contexts(self, node: str | None, names: Sequence[str]) -> Mapping[FileKey, FileContext]:
        """(source, generation) -> what is known of that file before its next segment."""
        return self._node(node or "").contexts(names)

    def take(
        self,
        node: str | None,
        segments: Sequence[ParsedSegment],
        *,
        batch_id: str,
        packed: PackedLines | None = None,
    ) -> None:
        """The new lines of one node's batch.

        Bytes that are stored already are skipped line by line, also in another batching; a jump in
        a file is kept as a gap until its bytes come.

        packed: the lines of the segments as they came; if all are new and nothing more is known of
        them here they are stored as they are.
        """
        place = node or ""
        here = self._node(place)
        new = here.accept(segments, named=packed is not None)
        whole = packed if not new.skipped and not new.moved else None
        lines = whole.lines if whole else joined(new.tables)
        faults = faults_in(lines, self._classes)
        raise_severity(lines, faults)
        if here.fill_ranks(lines) or len(faults.own):
            whole = None
        if len(lines):
            here.fold(lines)
            self._pack(ChunkOwner(*self._place, place, batch_id[:128]), lines, whole)
            self._count(here, place, lines, whole)
            self._keep_events(here, place, (lines, new.source_of_lines(), faults))
        self._sum_up(place, new, lines)

    def finish(self) -> LinesWritten:
        """Writes all that was taken."""
        save_all(*self._place, self._nodes)
        add_chunks(self._chunks)
        self._templates.add()
        add_events(self._events)
        triable = any(rows.triable for rows in self._events)
        mark_dirty(*self._place, new_events=triable, new_lines=self._written.lines > 0)
        return self._written.done()

    def _node(self, node: str) -> NodeLines:
        if node not in self._nodes:
            self._nodes[node] = NodeLines(*self._place, node)
        return self._nodes[node]

    def _pack(self, owner: ChunkOwner, lines: LineColumns, packed: PackedLines | None) -> None:
        parts = [lines] if packed else cut(lines)
        for one in parts:
            body = packed.chunk if packed else pack_chunk(one)
            copies = int(np.count_nonzero(one.of_channel(TEE)))
            self._chunks.append(PackedChunk(owner, header_of(one), copies, body))

    def _count(
        self, here: NodeLines, node: str, lines: LineColumns, packed: PackedLines | None
    ) -> None:
        """Templates of the lines that are no console copies of rank files."""
        template = packed.template if packed else None
        copies = lines.of_channel(TEE)
        if copies.any() and here.with_files:
            lines, template = lines.select(np.flatnonzero(~copies)), None
        template = templates_of(lines) if template is None else template
        self._templates.count(node, lines, template)

    def _keep_events(
        self,
        here: NodeLines,
        node: str,
        said: tuple[LineColumns, NDArray[np.int64], LineFaults],
    ) -> None:
        lines, source, faults = said
        add_unread(self._place[0], self._classes.revision, faults.unread)
        place = (*self._place, node)
        self._events.append(events_of(place, lines, source, faults, with_files=here.with_files))

    def _sum_up(self, node: str, new: NewLines, lines: LineColumns) -> None:
        rows, copies = self._speakers.rows(node, new.told)
        self._written.job_rows += rows
        self._written.job_copies += copies
        self._written.add(new, lines, self._late_before_ns)
        if len(lines):
            late_ns = int(lines.time_ns.max()) - overview.LATE_NS
            self._late_before_ns = max(late_ns, self._late_before_ns or 0)


def write_lines(
    run_id: int,
    attempt: int,
    node: str | None,
    segments: Sequence[ParsedSegment],
    *,
    batch_id: str,
) -> LinesWritten:
    """Stores the new lines of one node's batch; in the caller's transaction. See LineWriter."""
    if not segments:
        return LinesWritten()
    writer = LineWriter(run_id, attempt)
    writer.take(node, segments, batch_id=batch_id)
    return writer.finish()
