"""Lines in parts that fit a chunk. Plain Python and NumPy."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.reading.columns import LineColumns

MAX_CHUNK_LINES = 20_000
MAX_CHUNK_BYTES = 8 * 1024 * 1024


def cut(lines: LineColumns) -> Iterable[LineColumns]:
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
