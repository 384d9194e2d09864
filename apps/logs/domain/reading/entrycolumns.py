"""Entries of many processes read together, as columns: what parse_entries reads, in one go.

Entries that all say their time are plain columns from the start. What is rare (JSON without a
level, consoles, blocks of numbers) is left to parse_entries, process by process.
Plain Python and NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from apps.core.records import Severity
from apps.logs.domain.reading.carry import Carry
from apps.logs.domain.reading.columns import MAX_ORIGINS, NO_RANK, NO_STEP, LineColumns, Origin
from apps.logs.domain.reading.entries import RANK_MARK, TEE_MARK, Entries, parse_entries
from apps.logs.domain.reading.headers import Clock
from apps.logs.domain.reading.linefacts import LineFacts, has_blocks
from apps.logs.domain.reading.lineheads import read_heads
from apps.logs.domain.reading.rawtext import RawText, raw_text
from apps.logs.domain.reading.segments import ParsedSegment, ParsePolicy, SegmentMeta
from apps.logs.domain.reading.shapes import digits_of
from apps.logs.domain.reading.tracebacks import Tracebacks
from apps.logs.domain.reading.tracing import Tracing

FEW_BYTES = 4_000
"""Below it reading one by one is faster."""
NOT_SAID = 0


@dataclass(frozen=True, slots=True)
class EntryColumns:
    """Entries that all say their time, and hold one line each. time_ns: int64[n]. severity:
    uint8[n], 0 = not said. text: UTF-8, without a line end. rank: of all of them."""

    time_ns: NDArray[np.int64]
    severity: NDArray[np.uint8]
    text: Sequence[bytes]
    rank: int | None = None

    def __len__(self) -> int:
        return len(self.text)

    def entries(self) -> Entries:
        """The same as lists."""
        return Entries(
            self.time_ns.tolist(),
            [severity or None for severity in self.severity.tolist()],
            [None] * len(self.text),
            [text.decode("utf-8", "replace") for text in self.text],
            self.rank,
        )


@dataclass(frozen=True, slots=True)
class Source:
    """The entries of one process and where they go."""

    meta: SegmentMeta
    columns: EntryColumns


def columns_of(entries: Entries) -> EntryColumns | None:
    """Entries as columns; None if they say too little or too much for that."""
    if None in entries.time_ns or entries.step.count(None) < len(entries):
        return None
    texts = [text.removesuffix("\n").encode("utf-8", "replace") for text in entries.text]
    if b"\n" in b"".join(texts):
        return None
    severity = [word or NOT_SAID for word in entries.severity]
    return EntryColumns(
        np.array(entries.time_ns, dtype=np.int64),
        np.array(severity, dtype=np.uint8),
        texts,
        entries.rank,
    )


def parse_sources(sources: Sequence[Source]) -> list[ParsedSegment]:
    """A segment of each source, as parse_entries gives it. About 1 microsecond a line."""
    texts = [text for source in sources for text in source.columns.text]
    data = b"\n".join([*texts, b""])
    raw = raw_text(data, 0) if len(data) >= FEW_BYTES and len(sources) <= MAX_ORIGINS else None
    if raw is None:
        return [parse_entries(one.meta, one.columns.entries()) for one in sources]
    return _Together(sources, raw, len(data)).segments(data)


class _Together:
    """The lines of all sources, one source after the other. size: bytes of all of them."""

    def __init__(self, sources: Sequence[Source], raw: RawText, size: int) -> None:
        self.sources, self.raw = sources, raw
        sizes = [len(source.columns) for source in sources]
        self.bounds = [0, *accumulate(sizes)]
        self.owner = np.repeat(np.arange(len(sources)), sizes)
        near_ns = max((source.meta.seen_ns for source in sources), default=0)
        self.heads = read_heads(raw.text, Clock(near_ns), ParsePolicy(), tee=False)
        self.facts = LineFacts(raw.text, self.heads, len(raw.text))
        self.places = np.append(raw.places, size)

    def segments(self, data: bytes) -> list[ParsedSegment]:
        """What each source says."""
        job = self.facts.formats(data)
        rare = self._rare()
        if has_blocks(job):
            rare[:] = True
        lines = self._columns(data)
        self.metrics = self.facts.metrics(lines)
        self.placements = self.facts.placements(lines, None)
        self.jobs, self.unplaced = self.facts.jobs(job, lines)
        self.job_bounds = np.searchsorted(self.jobs.lines, self.bounds).tolist()
        found = []
        for number, source in enumerate(self.sources):
            if rare[number]:
                found.append(parse_entries(source.meta, source.columns.entries()))
            else:
                found.append(self._segment(number, lines))
        return found

    def _rare(self) -> NDArray[np.bool_]:
        """Sources that hold something which is not read here."""
        row, heads = self.heads.row, self.heads
        said = np.concatenate([source.columns.severity for source in self.sources]) != NOT_SAID
        level_missing = np.zeros(len(self.sources), dtype=np.bool_)
        level_missing[self.owner[~said]] = True
        odd = row["enveloped"] & level_missing[self.owner]
        nameless = np.array([one.columns.rank is None for one in self.sources], dtype=np.bool_)
        odd |= (heads.local_rank != NO_RANK) | (nameless[self.owner] & (heads.rank != NO_RANK))
        marked = {"tee": TEE_MARK.encode(), "rank": RANK_MARK.encode()}
        for name, mark in marked.items():
            begins = np.array([shape.startswith(mark) for shape in heads.shapes], dtype=np.bool_)
            alone = [
                one.meta.local_rank is None and (name == "tee" or one.columns.rank is None)
                for one in self.sources
            ]
            odd |= begins[heads.shape] & np.array(alone, dtype=np.bool_)[self.owner]
        rare = np.zeros(len(self.sources), dtype=np.bool_)
        rare[self.owner[odd]] = True
        return rare

    def _columns(self, data: bytes) -> LineColumns:
        heads, sources = self.heads, self.sources
        times = [one.columns.time_ns + one.meta.time_shift_ns for one in sources]
        said = np.concatenate([one.columns.severity for one in sources])
        ranks = [NO_RANK if one.columns.rank is None else one.columns.rank for one in sources]
        metas = [one.meta for one in sources]
        places = self.raw.places
        begin = np.array([meta.offset for meta in metas]) - places[self.bounds[:-1]]
        read = self._severities()
        return LineColumns(
            origins=tuple(Origin(meta.source, meta.channel, meta.local_rank) for meta in metas),
            origin=self.owner.astype(np.uint16),
            time_ns=np.concatenate(times),
            seq=places + begin[self.owner],
            rank=np.where(heads.rank == NO_RANK, np.array(ranks)[self.owner], heads.rank).astype(
                np.int32
            ),
            severity=np.where(said == NOT_SAID, read, said),
            step=np.where(read < Severity.ERROR, heads.step, NO_STEP),
            message_at=heads.row["message_at"].astype(np.int32),
            shape=heads.shape,
            shapes=heads.shapes,
            digits=digits_of(self.raw.text.data),
            originals=self.raw.originals,
        )

    def _severities(self) -> NDArray[np.uint8]:
        """What each line says itself."""
        severity: NDArray[np.uint8] = self.heads.row["severity"].copy()
        ranks = [one.meta.local_rank for one in self.sources]
        local = np.array([NO_RANK if rank is None else rank for rank in ranks])[self.owner]
        begins = np.flatnonzero(self.heads.row["opens"] | self.heads.row["quotes"])
        for number in np.unique(self.owner[begins]).tolist():
            tracing = Tracing(self.facts, local, Tracebacks({}), tee=False)
            tracing.read(severity, self.bounds[number], self.bounds[number + 1])
        return severity

    def _segment(self, number: int, lines: LineColumns) -> ParsedSegment:
        start, end = self.bounds[number], self.bounds[number + 1]
        meta = self.sources[number].meta
        piece = lines.piece(start, end)
        piece.origins = (lines.origins[number],)
        piece.origin = np.zeros(end - start, dtype=np.uint16)
        size = int(self.places[end] - self.places[start])
        rows, numbers = self.metrics
        mine = [at for at, line in enumerate(numbers) if start <= line < end] if numbers else []
        return ParsedSegment(
            meta=replace(meta, rank=self.sources[number].columns.rank),
            end=meta.offset + size,
            lines=piece,
            metrics=[rows[at] for at in mine],
            placements=[
                replace(fact, node=meta.node or fact.node)
                for line, fact in self.placements
                if start <= line < end
            ],
            invalid_utf8_bytes=0,
            long_lines=0,
            carry=Carry(
                offset=meta.offset + size,
                time_ns=int(piece.time_ns[-1]),
                stamped=bool(self.heads.timed[start:end].any()),
            ),
            metric_lines=[numbers[at] - start for at in mine],
            job=self.jobs.part(self.job_bounds[number], self.job_bounds[number + 1], start),
            unplaced_job_lines=sum(start <= line < end for line in self.unplaced),
        )
