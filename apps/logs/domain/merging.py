"""Which small chunks become one large one, and how. Plain Python and NumPy.

Measured on the corpus of `bench logs` (batches of 10 s, 8 ranks a node): chunks as they come take
.217 bytes a byte, 8,000 lines at once .161, and .139 at zstd level 9, which costs 25 CPU seconds
a GB. Level 12 costs twice as much for .001, level 19 27 times as much for .02. Chunks of 60,000
lines are no smaller. Every level is read equally fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.logs.domain.chunks import NO_RANK, NO_STEP, ChunkLines
from apps.logs.domain.table import LineTable

LEVEL = 9


@dataclass(frozen=True, slots=True)
class MergePolicy:
    """lines, text_bytes: a chunk of this size is large enough. most_bytes: of text, at most.

    min_chunks: so many small ones are merged even if they do not make a large one.
    apart_ns: chunks further apart stay apart, so that time still leaves chunks out.
    """

    lines: int = 8_000
    text_bytes: int = 4 << 20
    most_bytes: int = 8 << 20
    min_chunks: int = 16
    apart_ns: int = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class Small:
    """A chunk that waits. The fields are those of its header."""

    chunk_id: int
    first_ns: int
    last_ns: int
    lines: int
    text_bytes: int


@dataclass(frozen=True, slots=True)
class Portion:
    """The chunks to merge now, none if it does not pay yet. final: never merge the result again."""

    chunk_ids: tuple[int, ...] = ()
    final: bool = False


def next_portion(waiting: Sequence[Small], policy: MergePolicy) -> Portion:
    """The first chunks that make a large one. waiting: of one node, by first_ns."""
    taken: list[int] = []
    lines = size = 0
    last_ns = waiting[0].last_ns if waiting else 0
    for chunk in waiting:
        apart = chunk.first_ns - last_ns > policy.apart_ns
        if taken and (apart or size + chunk.text_bytes > policy.most_bytes):
            return Portion(tuple(taken), final=True)
        taken.append(chunk.chunk_id)
        lines, size = lines + chunk.lines, size + chunk.text_bytes
        last_ns = max(last_ns, chunk.last_ns)
        if lines >= policy.lines or size >= policy.text_bytes:
            return Portion(tuple(taken), final=True)
    if len(taken) >= policy.min_chunks:
        return Portion(tuple(taken))
    return Portion()


def tables_of(chunks: Sequence[ChunkLines]) -> list[LineTable]:
    """All lines of the chunks: a table a file, by name, lines in file order.

    Neighbours are alike then, which is what makes the ratio. Keys of lines do not change.
    """
    names = sorted({origin.source for chunk in chunks for origin in chunk.origins})
    number = {name: at for at, name in enumerate(names)}
    source = np.concatenate(
        [np.array([number[o.source] for o in chunk.origins])[chunk.origin] for chunk in chunks]
    )
    seq = np.concatenate([chunk.seq for chunk in chunks])
    order = np.lexsort((seq, source))
    ends = np.searchsorted(source[order], np.arange(len(names)), side="right")
    whole = _columns(chunks)
    tables = []
    start = 0
    for name, end in zip(names, ends.tolist(), strict=True):
        if end > start:
            tables.append(_table(name, whole, order[start:end].tolist()))
        start = end
    return tables


def _columns(chunks: Sequence[ChunkLines]) -> LineTable:
    """The lines of the chunks one after the other."""
    whole = LineTable("")
    for chunk in chunks:
        origins = [chunk.origins[number] for number in chunk.origin.tolist()]
        whole.time_ns += chunk.time_ns.tolist()
        whole.seq += chunk.seq.tolist()
        whole.channel += [origin.channel for origin in origins]
        whole.local_rank += [origin.local_rank for origin in origins]
        whole.rank += [None if rank == NO_RANK else rank for rank in chunk.rank.tolist()]
        whole.severity += chunk.severity.tolist()
        whole.step += [None if step == NO_STEP else step for step in chunk.step.tolist()]
        whole.text += [chunk.text(line) for line in range(len(chunk))]
    whole.message_at = [0] * len(whole.seq)
    return whole


def _table(name: str, whole: LineTable, lines: list[int]) -> LineTable:
    table = whole.select(lines)
    table.source = name
    return table
