"""What the page of a link test shows: its matrix, packed for the browser, and a small table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from apps.nodes.domain.links import Matrix

UNMEASURED = 65_535
_MOST_PERMILLE = 65_534
TABLE_HOSTS = 16
"""The matrix is also a table up to here; larger ones are drawn, and their worst are listed."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One pair of the table. tone: "bad", "low", "" or "none" for one that was not measured."""

    gbit_s: float | None
    tone: str


def pack(hosts: Sequence[str], matrix: Matrix, usual: float) -> bytes:
    """Bytes that the browser reads without parsing a number.

    u32 length of a JSON header (hosts, usual Gbit/s), the header padded to 4 bytes, uint16[n, n] in
    thousandths of the usual, UNMEASURED where nothing was measured.
    """
    head = orjson.dumps({"hosts": list(hosts), "usual": usual})
    head += b" " * (-len(head) % 4)
    scaled = np.divide(matrix * 1000.0, usual or 1.0)
    known = np.isfinite(scaled)
    cells = np.full(matrix.shape, UNMEASURED, np.uint16)
    cells[known] = np.clip(np.rint(scaled[known]), 0, _MOST_PERMILLE).astype(np.uint16)
    return np.uint32(len(head)).tobytes() + head + cells.tobytes()


def table(hosts: Sequence[str], matrix: Matrix, usual: float) -> list[tuple[str, list[Cell]]]:
    """A row a host, for those who see no drawing; [] for more than TABLE_HOSTS."""
    if len(hosts) > TABLE_HOSTS:
        return []
    return [
        (host, [_cell(float(value), usual) for value in row])
        for host, row in zip(hosts, matrix, strict=True)
    ]


def _cell(value: float, usual: float) -> Cell:
    if not np.isfinite(value):
        return Cell(None, "none")
    ratio = value / usual if usual > 0 else 1.0
    return Cell(value, "bad" if ratio < 0.75 else "low" if ratio < 0.85 else "")
