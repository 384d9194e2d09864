"""Which small chunks become one large one, and how. Plain Python and NumPy.

The larger a chunk, the more lines of a shape stand together: on the corpus of `bench logs` batches
of 200 lines take .146 bytes a byte, of 500 .114, 8,000 lines at once .085. Levels of zstd beyond
the first change that by a hundredth: the digits, most of a chunk, have no repeats to find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.logs.domain.chunk.chunks import ChunkLines, columns_of
from apps.logs.domain.reading.columns import LineColumns, joined

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


def in_file_order(chunks: Sequence[ChunkLines]) -> LineColumns:
    """All lines of the chunks: the files by name, lines in file order.

    Neighbours are alike then, which is what makes the ratio. Keys of lines do not change.
    """
    whole = joined([columns_of(chunk) for chunk in chunks])
    names = sorted({origin.source for origin in whole.origins})
    number = {name: at for at, name in enumerate(names)}
    source = np.array([number[origin.source] for origin in whole.origins])[whole.origin]
    return whole.select(np.lexsort((whole.seq, source)))
