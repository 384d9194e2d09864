"""One segment of one log file, read by the shapes of its lines: what lines.py reads, at a tenth of
the cost.

Lines are read as columns (lineheads.py); what depends on the lines around them is done here. A
segment that holds something rare (lines in parts, JSON, a block of numbers) is left to the exact
parser. Plain Python and NumPy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from apps.core.records import Severity
from apps.logs.domain.reading.carry import MAX_OPEN, Carry, OpenLine
from apps.logs.domain.reading.columns import NO_RANK, NO_STEP, LineColumns, Origin
from apps.logs.domain.reading.envelopes import may_hold
from apps.logs.domain.reading.headers import Clock
from apps.logs.domain.reading.linefacts import LineFacts, has_blocks
from apps.logs.domain.reading.lineheads import read_heads
from apps.logs.domain.reading.lines import fitting, start_time
from apps.logs.domain.reading.lines import parse_segment as parse_exactly
from apps.logs.domain.reading.rawtext import RawText, raw_text
from apps.logs.domain.reading.segments import (
    CONSOLE,
    STDOUT,
    TEE,
    ParsedSegment,
    ParsePolicy,
    SegmentMeta,
)
from apps.logs.domain.reading.shapes import digits_of
from apps.logs.domain.reading.tracebacks import Tracebacks
from apps.logs.domain.reading.tracing import Tracing

FEW_BYTES = 4_000
"""Below it the exact parser is faster."""
Ints = NDArray[np.int64]


def parse_segment(
    meta: SegmentMeta, data: bytes, policy: ParsePolicy | None = None
) -> ParsedSegment:
    """The same as lines.parse_segment(). About 1 microsecond a line whose shape is known."""
    policy = policy or ParsePolicy()
    carry = fitting(meta)
    open_before = carry is not None and (carry.line or carry.parts or carry.block)
    if len(data) < FEW_BYTES or open_before:
        return parse_exactly(meta, data, policy)
    raw = raw_text(data, meta.offset)
    if raw is None:
        return parse_exactly(meta, data, policy)
    found = _Segment(meta, policy, raw).parsed(data)
    return parse_exactly(meta, data, policy) if found is None else found


class _Segment:
    """A segment on its way from heads of single lines to lines of a file."""

    def __init__(self, meta: SegmentMeta, policy: ParsePolicy, raw: RawText) -> None:
        self.meta, self.policy, self.raw = meta, policy, raw
        self.text = raw.text
        self.carry = fitting(meta)
        self.tee = meta.channel == CONSOLE
        clock = Clock(meta.seen_ns, policy.zone_offset_s)
        self.heads = read_heads(self.text, clock, policy, tee=self.tee)
        self.tracebacks = Tracebacks(self.carry.open if self.carry else {})
        self.ranks = dict(self.carry.ranks if self.carry else ())
        self.start_ns = start_time(meta, self.carry)
        self.facts = LineFacts(self.text, self.heads, len(self.text) - meta.partial)

    def parsed(self, data: bytes) -> ParsedSegment | None:
        """What the segment says; None if the exact parser has to read it."""
        row = self.heads.row
        if not self.policy.plain and row["enveloped"].any() and may_hold(data):
            return None
        job = self.facts.formats(data)
        if has_blocks(job):
            return None
        lines = self._columns()
        jobs, unplaced = self.facts.jobs(job, lines)
        copies = self.tee and not self.policy.alone
        metrics, metric_lines = ([], []) if copies else self.facts.metrics(lines)
        placements = self.facts.placements(lines, self.meta.node)
        return ParsedSegment(
            meta=self.meta,
            end=self.meta.offset + len(data),
            lines=lines,
            metrics=metrics,
            placements=[fact for _, fact in placements],
            invalid_utf8_bytes=self.raw.invalid_bytes,
            long_lines=0,
            carry=self._carried(data, lines),
            metric_lines=metric_lines,
            job=jobs,
            unplaced_job_lines=len(unplaced),
        )

    def _columns(self) -> LineColumns:
        heads, text = self.heads, self.text
        local = heads.local_rank
        if not self.tee and self.meta.local_rank is not None:
            local[local == NO_RANK] = self.meta.local_rank
        severity = self._severities(local)
        origins, origin = self._origins(local)
        return LineColumns(
            origins=origins,
            origin=origin,
            time_ns=self._times(),
            seq=self.raw.places,
            rank=self._ranks(local).astype(np.int32),
            severity=severity,
            step=np.where(severity < Severity.ERROR, heads.step, NO_STEP),
            message_at=heads.row["message_at"].astype(np.int32),
            shape=heads.shape,
            shapes=heads.shapes,
            digits=digits_of(text.data),
            originals=self.raw.originals,
        )

    def _times(self) -> Ints:
        """Shifted times; a line without one has that of the line before it."""
        heads = self.heads
        before = np.maximum.accumulate(np.where(heads.timed, np.arange(len(heads.timed)), -1))
        own = heads.time_ns[np.maximum(before, 0)] + self.meta.time_shift_ns
        return np.where(before >= 0, own, self.start_ns)

    def _origins(self, local: Ints) -> tuple[tuple[Origin, ...], NDArray[np.uint16]]:
        meta = self.meta
        if len(local) and (local == local[0]).all():
            only = None if local[0] == NO_RANK else int(local[0])
            one = Origin(meta.source, self._channel(only), only)
            return (one,), np.zeros(len(local), dtype=np.uint16)
        values, origin = np.unique(local, return_inverse=True)
        names = [None if one == NO_RANK else one for one in values.tolist()]
        channels = [self._channel(one) for one in names]
        origins = zip(channels, names, strict=True)
        return tuple(Origin(meta.source, *one) for one in origins), origin.astype(np.uint16)

    def _channel(self, local_rank: int | None) -> str:
        if not self.tee:
            return self.meta.channel
        own = STDOUT if self.policy.alone else TEE
        return CONSOLE if local_rank is None else own

    def _ranks(self, local: Ints) -> Ints:
        """Global rank of each line: named by itself, else said of all, else the first one its
        process named."""
        named = self.heads.rank
        if self.meta.rank is not None:
            return np.where(named == NO_RANK, self.meta.rank, named)
        naming = np.flatnonzero(named != NO_RANK)
        processes, first = np.unique(local[naming], return_index=True)
        order = np.argsort(first)
        for process, at in zip(processes[order].tolist(), first[order].tolist(), strict=True):
            key = None if process == NO_RANK else process
            self.ranks.setdefault(key, int(named[naming[at]]))
        if self.tee:
            self.ranks.pop(None, None)
        found = named.copy()
        for key, rank in self.ranks.items():
            found[(local == (NO_RANK if key is None else key)) & (named == NO_RANK)] = rank
        return found

    def _severities(self, local: Ints) -> NDArray[np.uint8]:
        """Severity of each line; those of a traceback are read one after the other."""
        severity = self.heads.row["severity"].copy()
        Tracing(self.facts, local, self.tracebacks, self.tee).read(severity, 0, len(severity))
        return severity

    def _carried(self, data: bytes, lines: LineColumns) -> Carry:
        stamped = self.carry is not None and self.carry.stamped
        return Carry(
            offset=self.meta.offset + len(data),
            time_ns=int(lines.time_ns[-1]),
            stamped=stamped or bool(self.heads.timed.any()),
            open=self.tracebacks.open,
            ranks=list(self.ranks.items())[-MAX_OPEN:],
            line=None if data.endswith(b"\n") else _open_line(lines),
        )


def _open_line(lines: LineColumns) -> OpenLine:
    """The last line, whose end has not come."""
    last = lines.line(len(lines) - 1)
    return OpenLine(1, Severity(last.severity), last.rank, last.local_rank)
