"""A parcel into the tables: as it came, or read again by ourselves."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from apps.ingest.envelope import Envelope
from apps.ingest.packed.parse import PackedBatch
from apps.ingest.writes import Written, add_segments, attempt_of, files_of, write_logs
from apps.logs.domain.parcel.reader import reader_number
from apps.logs.domain.reading.segments import ParsedSegment
from apps.logs.store import PackedLines

CHECKED = 64
"""Of so many parcels one is put together again and compared with the checksums of its bytes."""


def write_packed(envelope: Envelope, batch: PackedBatch) -> Written:
    """Lines that their agent has read.

    They are read again from their bytes if its reader is not ours, or if it did not know what the
    bytes before them left open: then the lines are what they would be had the bytes come.
    """
    if zlib.crc32(envelope.batch_id.encode()) % CHECKED == 0:
        batch.unread()
    attempt = attempt_of(envelope, batch, batch.segments)
    parsed = _read_by_agent(envelope.run_id, attempt, batch)
    if parsed is None:
        done = write_logs(envelope, batch.unread())
        return Written(done.attempts, {**done.counts, "parcels_read_again": 1})
    packed = PackedLines(batch.opened.lines, batch.opened.template, batch.chunk)
    return add_segments(envelope, attempt, batch.node, parsed, packed)


def _read_by_agent(run_id: int, attempt: int, batch: PackedBatch) -> Sequence[ParsedSegment] | None:
    known = files_of(run_id, attempt, batch.node, batch.segments)
    if batch.reader != reader_number():
        return None
    carries = {key: context.carry for key, context in known.items()}
    metas = []
    for segment, side in zip(batch.segments, batch.opened.segments, strict=True):
        key = (segment.source, segment.generation)
        last_ns = known[key].last_ns if key in known else None
        if carries.get(key) != side.before or (side.before is None and last_ns is not None):
            return None
        metas.append(segment.meta(batch.node, batch.time_shift_ns, side.before, last_ns))
        carries[key] = side.after
    return batch.opened.read(metas)
