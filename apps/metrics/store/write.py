"""Writing rows: one hot block a flush."""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.records import MetricRow
from apps.core.sql import copy_in, execute
from apps.metrics.domain import blocks, packing, roles
from apps.metrics.domain.demands import has_watched
from apps.metrics.domain.packing import Packed
from apps.metrics.records import WriteResult
from apps.metrics.store.names import TooVaried, next_block

_HOT_BLOCK = {
    "run_id": "int8", "attempt": "int4", "last_step": "int8", "block_id": "int8",
    "first_step": "int8", "keyset_id": "int8", "ranked": "bool", "rows": "int4", "points": "int4",
    "nonfinite": "int4", "source": "text", "axis": "bytea", "cells": "bytea",
}  # fmt: skip


def write_rows(run_id: int, attempt: int, rows: Sequence[MetricRow], *, source: str) -> WriteResult:
    """Stores rows of one attempt; call it inside the transaction of their batch.

    Rows may be out of order and repeat steps: everything is kept, at equal steps the later arrival
    is shown. Values are kept bit for bit. A batch of the same names costs one look-up, one COPY
    and one note for the detectors, where one reads the series. BadPayload: see `packing.pack`.
    """
    points = nonfinite = 0
    steps: list[int] = []
    for matrix in packing.pack(rows):
        for figures in _add(run_id, attempt, matrix, source):
            points += figures.points
            nonfinite += figures.nonfinite
        steps += [int(matrix.axis.step.min()), int(matrix.axis.step.max())]
        _note_fresh(run_id, attempt, matrix)
    odd = packing.irregular(rows)
    return WriteResult(
        points=points,
        first_step=min(steps, default=None),
        last_step=max(steps, default=None),
        nonfinite=nonfinite,
        duplicate_steps=odd.duplicate_steps,
        backward_steps=odd.backward_steps,
    )


def _add(run_id: int, attempt: int, matrix: Packed, source: str) -> list[blocks.Stats]:
    """As one block; name by name if the run logs ever new sets of names."""
    try:
        return [_copy(run_id, attempt, matrix, source)]
    except TooVaried:
        return [_copy(run_id, attempt, one, source) for one in packing.columns(matrix)]


def _copy(run_id: int, attempt: int, packed: Packed, source: str) -> blocks.Stats:
    cells = blocks.encode_cells(packed.cells)
    figures = blocks.read_stats(cells)
    block_id = next_block(run_id, packed)
    step = packed.axis.step
    row = (
        run_id, attempt, int(step.max()), block_id, int(step.min()), packed.keyset_id,
        packed.ranked, len(packed.axis), figures.points, figures.nonfinite, source,
        blocks.encode_axis(packed.axis), cells,
    )  # fmt: skip
    copy_in("metrics_hotblock", _HOT_BLOCK, [row])
    return figures


def _watched(packed: Packed) -> bool:
    """Whether a detector reads one of the columns, by its name."""
    if packed.ranked:
        return True  # by name, or because a pattern of the project says so
    return bool(roles.guess(packed.names).by_role())


def _note_fresh(run_id: int, attempt: int, packed: Packed) -> None:
    """A note for each detector that reads a column, be it by its usual name or because somebody
    said so: one of the loss (or of ranks), one of layer statistics.

    -- uses the primary keys of runs and project names
    """
    step, watched = packed.axis.step, _watched(packed)
    layered = not packed.ranked and has_watched(packed.names)
    readers = [False] if packed.ranked else [False, True]
    execute(
        "INSERT INTO metrics_fresh"
        " (run_id, attempt, fresh_id, first_step, last_step, ranked, layers)"
        " SELECT %s, %s, nextval('metrics_fresh_id'), %s, %s, %s, f.layers"
        "   FROM unnest(%s::bool[]) AS f (layers)"
        "  WHERE (f.layers AND %s) OR (NOT f.layers AND %s)"
        "     OR EXISTS (SELECT 1 FROM runs_run r JOIN metrics_projectnames n USING (project)"
        "                 WHERE r.id = %s AND CASE WHEN f.layers THEN n.rules::text <> '[]'"
        "                       ELSE n.watched && %s::text[] END)",
        [run_id, attempt, int(step.min()), int(step.max()), packed.ranked, readers, layered,
         watched, run_id, [] if watched else list(packed.names)],
    )  # fmt: skip
