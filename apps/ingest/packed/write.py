"""A parcel into the tables: as it came, or read again by ourselves."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from apps.ingest.envelope import Envelope
from apps.ingest.logs.write import AttemptLogs, Received, RunLogs, joined
from apps.ingest.packed.parse import PackedBatch, parse
from apps.ingest.writes import Written
from apps.logs.domain.parcel.reader import reader_number
from apps.logs.domain.reading.segments import ParsedSegment
from apps.logs.store import PackedLines

CHECKED = 64
"""Of so many parcels one is put together again and compared with the checksums of its bytes."""
MAX_JOINED_BYTES = 8 << 20
"""Of parcels that are written together; one at a time is open."""


def join(first: Sequence[Received], second: Sequence[Received]) -> list[Received] | None:
    """Parcels of one sender that are written together."""
    return joined(first, second, MAX_JOINED_BYTES)


def write_packed(envelope: Envelope, parcels: Sequence[Received]) -> Written:
    """Lines that their agents have read.

    They are read again from their bytes if the reader is not ours, or if it did not know what the
    bytes before them left open: then the lines are what they would be had the bytes come.
    """
    taken = RunLogs(envelope.run_id)
    for parcel in parcels:
        _take(taken, parcel)
    return taken.written()


def _take(taken: RunLogs, parcel: Received) -> None:
    batch = parse(parcel.body)
    if zlib.crc32(parcel.batch_id.encode()) % CHECKED == 0:
        batch.unread()
    attempt = taken.attempt_of(parcel, batch, batch.segments)
    parsed = _read_by_agent(attempt, batch)
    if parsed is None:
        attempt.take(parcel, batch.node, attempt.read(batch.unread()))
        attempt.count("parcels_read_again")
    else:
        opened = batch.opened
        packed = PackedLines(opened.lines, opened.template, batch.chunk)
        attempt.take(parcel, batch.node, parsed, packed)


def _read_by_agent(attempt: AttemptLogs, batch: PackedBatch) -> Sequence[ParsedSegment] | None:
    if batch.reader != reader_number():
        return None
    known = attempt.contexts(batch.node, batch.segments)
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
