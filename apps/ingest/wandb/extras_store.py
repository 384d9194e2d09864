"""Every statement about what rows of W&B runs said beside their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from django.db.models import Q, Sum

from apps.core.grid import Grid, extras_of, steps_of, times_of
from apps.core.records import MetricRow
from apps.core.sql import execute, query
from apps.ingest.models import WandbExtra
from apps.ingest.wandb import extras
from apps.ingest.wandb.extras import Extra
from apps.metrics.domain.blocks import (
    Axis,
    Bools,
    Cells,
    Floats,
    decode_axis,
    decode_cells,
    encode_axis,
    encode_cells,
)

Placed = tuple[int, int, Extra]
"""Step, time_ns, extra."""
MAX_RUN_BYTES: Final = 512 << 20
MAX_NAMES: Final = 1_000
BLOCK_ROWS: Final = 1_024
BLOCK_BYTES: Final = 4 << 20
SMALL_ROWS: Final = 256
_SMALL: Final = frozenset({"r", "t"})
BYTES: Final = "extra_bytes"
"""The counter of the bytes that a run has here."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """Rows of one block. runtime: float64[n], NaN where not `timed` (None: all are).
    more: number of the row, and its extra without the runtime."""

    axis: Axis
    runtime: Floats
    timed: Bools | None
    more: Sequence[tuple[int, Extra]]


def add(run_id: int, attempt: int, rows: Sequence[MetricRow]) -> Counter[str]:
    """Keeps the extras of rows, in the caller's transaction and under its lock of the run.

    What to count: the bytes, or by kind what is skipped once the run has MAX_RUN_BYTES.
    """
    if isinstance(rows, Grid) and len(rows) >= SMALL_ROWS and rows.beside.keys() == {"r"}:
        if _bytes_of(run_id) >= MAX_RUN_BYTES:
            return Counter()
        return Counter({BYTES: _store(run_id, attempt, _of_grid(rows))})
    told = zip(steps_of(rows), times_of(rows), extras_of(rows), strict=True)
    placed = [(step, time_ns, extra) for step, time_ns, extra in told if extra]
    if not placed:
        return Counter()
    if _bytes_of(run_id) >= MAX_RUN_BYTES:
        lost = sum((extras.kinds(extra) for _, _, extra in placed), Counter[str]())
        return Counter({f"skipped: {kind}": times for kind, times in lost.items()})
    freed = 0
    if len(placed) < SMALL_ROWS:
        before, freed = _take_small(run_id, attempt)
        placed = before + placed
    return Counter({BYTES: _store(run_id, attempt, map(_columns, _parts(placed))) - freed})


def _store(run_id: int, attempt: int, parts: Iterable[_Columns]) -> int:
    """One block a part; their bytes."""
    blocks = [_block(run_id, attempt, part) for part in parts]
    for block in blocks:
        _insert(block)
    return sum(block.stored_bytes for block in blocks)


def _insert(block: WandbExtra) -> None:
    execute(
        "INSERT INTO ingest_wandbextra (run_id, attempt, last_step, first_step, rows, stored_bytes,"
        " names, axis, runtime, extra) VALUES (%s, %s, %s, %s, %s, %s, %s::text[], %s, %s, %s)",
        [block.run_id, block.attempt, block.last_step, block.first_step, block.rows,
         block.stored_bytes, block.names, block.axis, block.runtime, block.extra],
    )  # fmt: skip


def _bytes_of(run_id: int) -> int:
    """-- uses the primary key"""
    found = query(
        "SELECT value FROM ingest_counter WHERE run_id = %s AND name = %s", [run_id, BYTES]
    )
    return int(found[0][0]) if found else 0


def _take_small(run_id: int, attempt: int) -> tuple[list[Placed], int]:
    """The rows of the newest block if it is small, which ends it, and its bytes: a live run sends
    a few rows at a time. -- uses the primary key, backwards"""
    newest = WandbExtra.objects.filter(run_id=run_id, attempt=attempt)
    block = newest.order_by("-last_step", "-block_id").first()
    if block is None or block.rows >= SMALL_ROWS or block.stored_bytes > BLOCK_BYTES // 4:
        return [], 0
    rows = list(_rows(block))
    newest.filter(last_step=block.last_step, block_id=block.block_id).delete()
    return rows, block.stored_bytes


def _parts(placed: Sequence[Placed]) -> Iterator[list[Placed]]:
    part, size = list[Placed](), 0
    for row in placed:
        weight = len(msgspec.msgpack.encode(row[2])) if row[2].keys() - _SMALL else 0
        if part and (len(part) == BLOCK_ROWS or size + weight > BLOCK_BYTES):
            yield part
            part, size = [], 0
        part.append(row)
        size += weight
    yield part


def _of_grid(grid: Grid) -> Iterator[_Columns]:
    for start in range(0, len(grid), BLOCK_ROWS):
        part = grid[start : start + BLOCK_ROWS]
        yield _Columns(_axis(part.steps, part.times_ns), part.beside["r"], None, ())


def _columns(placed: Sequence[Placed]) -> _Columns:
    more = [(at, {name: value for name, value in extra.items() if name != "r"})
            for at, (_, _, extra) in enumerate(placed) if len(extra) > ("r" in extra)]  # fmt: skip
    return _Columns(
        _axis([step for step, _, _ in placed], [time_ns for _, time_ns, _ in placed]),
        runtime=np.array([extra.get("r", np.nan) for _, _, extra in placed], dtype=np.float64),
        timed=np.array(["r" in extra for _, _, extra in placed]),
        more=more,
    )


def _axis(steps: Sequence[int], times_ns: Sequence[int]) -> Axis:
    return Axis(np.array(steps, dtype=np.int64), np.array(times_ns, dtype=np.int64))


def _block(run_id: int, attempt: int, part: _Columns) -> WandbExtra:
    timed = None if part.timed is None else part.timed[:, None]
    axis, cells = encode_axis(part.axis), encode_cells(Cells(part.runtime[:, None], timed))
    packed = extras.pack(part.more)
    names = sorted({name for _, extra in part.more for name in extra.get("o", ())})
    return WandbExtra(
        run_id=run_id,
        attempt=attempt,
        last_step=int(part.axis.step.max()),
        first_step=int(part.axis.step.min()),
        rows=len(part.axis),
        stored_bytes=len(axis) + len(cells) + len(packed),
        names=[name.replace("\0", "\ufffd") for name in names[:MAX_NAMES]],
        axis=axis,
        runtime=cells,
        extra=packed,
    )


def _rows(block: WandbExtra) -> Iterator[Placed]:
    axis, cells = decode_axis(bytes(block.axis)), decode_cells(bytes(block.runtime))
    runtime, present = cells.column(0)
    more = dict(extras.unpack(bytes(block.extra)))
    for at, (step, time_ns) in enumerate(
        zip(axis.step.tolist(), axis.time_ns.tolist(), strict=True)
    ):
        logged = {} if present is not None and not present[at] else {"r": float(runtime[at])}
        yield step, time_ns, {**logged, **more.get(at, {})}


def read(
    run_id: int,
    attempt: int,
    first: int | None,
    last: int | None,
    only: Container[tuple[int, int]] | None = None,
) -> dict[tuple[int, int], Extra]:
    """(step, time_ns) -> extra of the rows in the steps, both included; of two at one moment the
    later arrival. only: these moments. -- uses the primary key"""
    rows = WandbExtra.objects.filter(run_id=run_id, attempt=attempt)
    low = -(1 << 62) if first is None else first
    high = 1 << 62 if last is None else last
    found = dict[tuple[int, int], Extra]()
    for block in rows.filter(last_step__gte=low, first_step__lte=high).order_by("block_id"):
        found.update(
            ((step, time_ns), extra)
            for step, time_ns, extra in _rows(block)
            if low <= step <= high and (only is None or (step, time_ns) in only)
        )
    return found


def stored(run_id: int, attempt: int, first: int | None, last: int | None) -> tuple[int, int]:
    """(bytes, rows) of the blocks that `read` would open. -- uses the primary key"""
    sql = """
        SELECT coalesce(sum(stored_bytes), 0), coalesce(sum(rows), 0) FROM ingest_wandbextra
         WHERE run_id = %s AND attempt = %s AND last_step >= %s AND first_step <= %s
    """
    low = -(1 << 62) if first is None else first
    (found,) = query(sql, [run_id, attempt, low, 1 << 62 if last is None else last])
    return int(found[0]), int(found[1])


def count_rows(run_id: int, attempt: int, first: int | None, last: int | None) -> int:
    """How many rows have a step of first to last, both included.

    Only blocks at the ends are opened. -- uses the primary key
    """
    low = -(1 << 62) if first is None else first
    high = 1 << 62 if last is None else last
    touched = WandbExtra.objects.filter(run_id=run_id, attempt=attempt)
    touched = touched.filter(last_step__gte=low, first_step__lte=high)
    inside = Q(first_step__gte=low, last_step__lte=high)
    whole = touched.filter(inside).aggregate(n=Sum("rows"))["n"] or 0
    axes = touched.exclude(inside).values_list("axis", flat=True).iterator(chunk_size=16)
    steps = (decode_axis(bytes(axis)).step for axis in axes)
    return whole + sum(int(np.count_nonzero((low <= one) & (one <= high))) for one in steps)


def names(run_id: int) -> list[str]:
    """The names of what is kept here. -- uses the primary key"""
    sql = """
        SELECT DISTINCT name FROM ingest_wandbextra, unnest(names) AS name
         WHERE run_id = %s ORDER BY name LIMIT 10000
    """
    return [name for (name,) in query(sql, [run_id])]
