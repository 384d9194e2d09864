"""A statistic of all layers, or of the modules of one layer, over steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.metrics import naming, store
from apps.metrics.domain import layers
from apps.metrics.domain.layer_statistics import BY_SLUG
from apps.metrics.domain.layers import LayerRow, NamedLayer
from apps.metrics.records import CellGrid, CellQuery, LayerGrid, LayerQuery

MAX_SERIES = 2_000
"""Series in one grid; what is beyond is counted."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A statistic that a run logs of its layers. series: of how many names."""

    slug: str
    words: str
    series: int


def choices(run_id: int) -> list[Choice]:
    """What can be shown, best first. Two statements; see `Recogniser.recognise` for the rest."""
    return [Choice(slug, BY_SLUG[slug].words, len(named)) for slug, named in _named(run_id).items()]


def layer_grid(query: LayerQuery) -> LayerGrid:
    """The grid; empty lists if nothing of the kind is logged. About 1 ms a series."""
    rows, statistic = _rows(query)
    if query.labels:
        rows = [row for row in rows if row.label in query.labels]
    kept = _bounded(rows)
    wanted = [key for row in kept for key in row.keys]
    asked = CellQuery(
        query.run_id, query.attempt, tuple(wanted), query.buckets, query.from_step, query.to_step
    )
    grid = store.read_cells(asked) if wanted else CellGrid([], {})
    left_out = sum(len(row.keys) for row in rows) - len(wanted)
    return _filled(kept, grid, statistic, left_out)


def row_series(query: LayerQuery) -> dict[str, tuple[str, ...]]:
    """label -> the names of its series, of the rows that are asked for. Two statements."""
    rows, _ = _rows(query)
    return {row.label: row.keys for row in rows if row.label in query.labels}


def _named(run_id: int) -> Mapping[str, list[NamedLayer]]:
    reader = naming.recogniser_of(run_id)
    return layers.by_statistic(store.key_names(run_id, ranked=False), reader)


def _rows(query: LayerQuery) -> tuple[list[LayerRow], str | None]:
    if query.prefix:
        there = store.key_names(query.run_id, ranked=False)
        named = sorted((n for n in there if n.startswith(query.prefix)), key=layers.natural)
        return [LayerRow(name, "", (name,)) for name in named], None
    found = _named(query.run_id)
    statistic = query.statistic or next(iter(found), None)
    of_it = found.get(statistic or "", [])
    if query.layer:
        return layers.module_rows(of_it, query.layer), statistic
    return layers.layer_rows(of_it), statistic


def _bounded(rows: Sequence[LayerRow]) -> list[LayerRow]:
    kept, total = [], 0
    for row in rows:
        total += len(row.keys)
        if total > MAX_SERIES:
            break
        kept.append(row)
    return kept


def _filled(
    rows: Sequence[LayerRow], grid: CellGrid, statistic: str | None, left_out: int
) -> LayerGrid:
    norm = statistic is not None and BY_SLUG[statistic].norm
    made = LayerGrid([], grid.step_edges, [], [], [], [], statistic, left_out)
    for row in rows:
        parts = [grid.cells[key] for key in row.keys if key in grid.cells]
        if not parts:
            continue
        whole = layers.together(parts, norm=norm)
        made.layers.append(row.label)
        made.places.append(row.place)
        made.series.append([key for key in row.keys if key in grid.cells])
        made.value.append(whole)
        made.z.append(layers.layer_z(whole, parts))
    return made
