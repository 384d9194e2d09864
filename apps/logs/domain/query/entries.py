"""Lines that were found, written out as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from apps.logs.domain.chunk.chunks import NO_RANK, NO_STEP, ChunkLines
from apps.logs.domain.query.paging import Found
from apps.logs.records import LogEntry


def entries_of(found: Sequence[Found]) -> list[LogEntry]:
    """The records of these lines, in their order. About 7 microseconds each."""
    places: dict[int, list[int]] = {}
    for place, one in enumerate(found):
        places.setdefault(id(one.chunk), []).append(place)
    entries: dict[int, LogEntry] = {}
    for mine in places.values():
        lines = [found[place] for place in mine]
        entries |= zip(mine, _of_chunk(lines[0].chunk, lines), strict=True)
    return [entries[place] for place in range(len(found))]


def _of_chunk(chunk: ChunkLines, found: Sequence[Found]) -> Iterator[LogEntry]:
    numbers = np.array([one.number for one in found])
    columns = (chunk.time_ns, chunk.seq, chunk.origin, chunk.rank, chunk.severity, chunk.step)
    rows = zip(*(column[numbers].tolist() for column in columns), strict=True)
    texts = chunk.lines_text.several(numbers.tolist())
    for one, text, row in zip(found, texts, rows, strict=True):
        time_ns, seq, origin, rank, severity, step = row
        attempt, node = one.tag
        file = chunk.origins[origin]
        yield LogEntry(
            attempt=attempt,
            node=node or None,
            time_ns=time_ns,
            seq=seq,
            source=file.source,
            channel=file.channel,
            local_rank=file.local_rank,
            rank=None if rank == NO_RANK else rank,
            severity=severity,
            step=None if step == NO_STEP else step,
            text=text.decode("utf-8", "replace"),
        )
