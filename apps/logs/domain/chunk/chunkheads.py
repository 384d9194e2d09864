"""What is known of a chunk without opening it. Plain Python and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.core.records import Severity
from apps.logs.domain.query import sieve
from apps.logs.domain.reading.columns import LineColumns

SEVERITIES = (
    Severity.DEBUG,
    Severity.INFO,
    Severity.WARNING,
    Severity.ERROR,
    Severity.CRITICAL,
)

Key = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ChunkHeader:
    """What is known of a chunk without decompressing it.

    first, last: smallest and largest (time_ns, rank, seq); rank -1 = none. by_severity: lines of
    DEBUG, INFO, WARNING, ERROR, CRITICAL. ranks: ascending, -1 if some line has none.
    text_bytes: UTF-8 bytes of all texts. sieve: which texts can be in it (sieve.py).
    """

    lines: int
    first: Key
    last: Key
    by_severity: tuple[int, ...]
    ranks: tuple[int, ...]
    text_bytes: int
    sieve: bytes = b""


def header_of(lines: LineColumns) -> ChunkHeader:
    """The header of a chunk of these lines."""
    time_ns, rank, seq = lines.time_ns, lines.rank, lines.seq
    counts = np.bincount(lines.severity, minlength=256)
    used = np.flatnonzero(np.bincount(lines.shape, minlength=len(lines.shapes)))
    text_bytes = int(lines.text_bytes.sum())
    return ChunkHeader(
        lines=len(seq),
        first=_edge(lines, np.flatnonzero(time_ns == time_ns.min()), min),
        last=_edge(lines, np.flatnonzero(time_ns == time_ns.max()), max),
        by_severity=tuple(int(counts[level]) for level in SEVERITIES),
        ranks=tuple(int(r) for r in np.unique(rank)),
        text_bytes=text_bytes,
        sieve=sieve.build([lines.shapes[at] for at in used.tolist()], text_bytes),
    )


def _edge(lines: LineColumns, numbers: NDArray[np.intp], pick: Callable[..., Any]) -> Key:
    """Smallest or largest key of the lines of one time."""
    keys = zip(lines.rank[numbers].tolist(), lines.seq[numbers].tolist(), strict=True)
    return (int(lines.time_ns[numbers[0]]), *pick(keys))
