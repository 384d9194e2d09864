"""The layers of the flight deck: a statistic in robust standard deviations, by steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apps.core.words import many
from apps.metrics import heatmap as layer_maps
from apps.metrics.domain.layer_statistics import BY_SLUG
from apps.metrics.records import LayerGrid, LayerQuery

BUCKETS = 240
WARM_UP_SHARE = 20
"""The first twentieth of a run is far from everything that follows: it names no worst cell."""
KEEP_FACTOR = 10.0
"""A grid is shown again for so many times as long as it took: a thousand series take a second, and
every open page asks once a second."""
MAX_KEPT_CELLS = 2_000_000
"""Of all grids that are kept, about 64 MB a process. The largest grid has half a million."""
Place = Callable[[int, Sequence[int]], list[float]]
"""(attempt, step edges) -> x values, empty if they are unknown."""


@dataclass(frozen=True, slots=True)
class HeatmapAsk:
    """What is shown. stretches: (attempt, first step, last step), None: open."""

    run_id: int
    statistic: str | None
    layer: str
    stretches: Sequence[tuple[int, int | None, int | None]]


@dataclass(frozen=True, slots=True)
class RowLine:
    """A row of the heatmap in one attempt: its values at x, which may be NaN."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


def heatmap(ask: HeatmapAsk, place: Place) -> dict[str, Any] | None:
    """The JSON of heatmap.js; None if the run logs nothing of its layers.

    layers: labels of rows; places: what a row opens, "" for nothing. grids: one an attempt.
    """
    choices = layer_maps.choices(ask.run_id)
    if not choices:
        return None
    slugs = [choice.slug for choice in choices]
    statistic = ask.statistic if ask.statistic in slugs else slugs[0]
    series = choices[slugs.index(statistic)].series
    found = [(part[0], _grid(ask, statistic, series, part)) for part in ask.stretches]
    grids = [(number, grid) for number, grid in found if len(grid.step_edges) > 1 and grid.layers]
    drawn = [_drawn(number, grid, place) for number, grid in grids]
    kept = [one for one in drawn if one["edges"]]
    main = max((grid for _, grid in grids), key=lambda grid: len(grid.layers), default=None)
    return {
        "layers": main.layers if main else [],
        "places": main.places if main else [],
        "grids": [one for one in kept if main and one["layers"] == main.layers],
        "statistic": statistic,
        "statistics": [{"slug": c.slug, "words": c.words} for c in choices],
        "open": ask.layer,
        "caption": _caption(ask, statistic, main, [one["attempt"] for one in kept]),
    }


def row_lines(ask: HeatmapAsk, labels: Sequence[str], place: Place) -> list[RowLine]:
    """The values of some rows, one line an attempt and row; rows that are not there are left out.
    About 1 ms a series."""
    found = []
    for attempt, first, last in ask.stretches:
        grid = layer_maps.layer_grid(
            LayerQuery(
                run_id=ask.run_id,
                attempt=attempt,
                statistic=ask.statistic,
                layer=ask.layer,
                labels=tuple(labels),
                buckets=BUCKETS,
                from_step=first,
                to_step=last,
            )
        )
        x = place(attempt, grid.step_edges)[:-1] if len(grid.step_edges) > 1 else []
        for label, values in zip(grid.layers, grid.value, strict=True):
            there = [(at, v) for at, v in zip(x, values, strict=False) if v is not None]
            if there:
                found.append(RowLine(label, [at for at, _ in there], [v for _, v in there]))
    return found


def _grid(
    ask: HeatmapAsk, statistic: str, series: int, part: tuple[int, int | None, int | None]
) -> LayerGrid:
    number, first, last = part
    return _kept_grid(
        LayerQuery(
            run_id=ask.run_id,
            attempt=number,
            statistic=statistic,
            layer=ask.layer,
            buckets=BUCKETS,
            from_step=first,
            to_step=last,
        ),
        series,
    )


_kept: dict[tuple[LayerQuery, int], tuple[float, LayerGrid]] = {}


def _kept_grid(query: LayerQuery, series: int) -> LayerGrid:
    """The grid without its values, up to KEEP_FACTOR times as old as it took to make. series: of
    how many names, so that a new rule or a new name shows at once."""
    started = time.monotonic()
    until, grid = _kept.get((query, series), (0.0, None))
    if grid is not None and started < until:
        return grid
    grid = replace(layer_maps.layer_grid(query), value=[])
    ended = time.monotonic()
    _make_room(ended, _cells(grid))
    _kept[query, series] = (ended + KEEP_FACTOR * (ended - started), grid)
    return grid


def _make_room(now_s: float, cells: int) -> None:
    """Forget what is too old, and all if the rest is too much."""
    for key, (until, _) in list(_kept.items()):
        if until <= now_s:
            _kept.pop(key, None)
    if cells + sum(_cells(grid) for _, grid in list(_kept.values())) > MAX_KEPT_CELLS:
        _kept.clear()


def _cells(grid: LayerGrid) -> int:
    return len(grid.layers) * len(grid.step_edges) + 1


def _drawn(number: int, grid: LayerGrid, place: Place) -> dict[str, Any]:
    # Two decimals are enough for a colour; NaN means only non-finite values in the bucket.
    cells = [[None if z is None else round(z, 2) for z in row] for row in grid.z]
    edges = place(number, grid.step_edges)
    return {"attempt": number, "layers": grid.layers, "edges": edges, "z": cells}


def _caption(
    ask: HeatmapAsk, statistic: str, grid: LayerGrid | None, attempts: Sequence[int]
) -> str:
    words = BY_SLUG[statistic].words
    if grid is None:
        return f"no {words} in view" + (f" of {ask.layer}" if ask.layer else "")
    inside = any(grid.places)
    rows = f"{ask.layer}: {many(len(grid.layers), 'series')}" if ask.layer else (
        f"{len(grid.layers)} rows, embedding to head"
    )  # fmt: skip
    parts = [f"{rows}, each against its own median", f"attempt {', '.join(map(str, attempts))}"]
    if inside:
        parts.append("click a row for its modules")
    if grid.left_out:
        parts.append(
            f"{grid.left_out:,} series beyond the first {layer_maps.MAX_SERIES:,} left out"
        )
    return " · ".join(parts)


@dataclass(frozen=True, slots=True)
class LayerLine:
    """A row of the heatmap as words: its newest value, and the cell that is furthest out."""

    label: str
    place: str
    series: tuple[str, ...]
    value: float | None
    z: float | None
    step: int | None


def lines(grid: LayerGrid) -> list[LayerLine]:
    """The rows of a grid, in its order."""
    return [
        _line(grid, at, label, tuple(names))
        for at, (label, names) in enumerate(zip(grid.layers, grid.series, strict=True))
    ]


def _line(grid: LayerGrid, at: int, label: str, names: tuple[str, ...]) -> LayerLine:
    value = next((cell for cell in reversed(grid.value[at]) if cell is not None), None)
    warm = len(grid.z[at]) // WARM_UP_SHARE
    known = [(n, z) for n, z in enumerate(grid.z[at]) if z is not None and n >= warm]
    odd = [(n, z) for n, z in known if z != z]
    worst = odd[0] if odd else max(known, key=lambda one: abs(one[1]), default=None)
    step = None if worst is None else grid.step_edges[worst[0]]
    return LayerLine(label, grid.places[at], names, value, worst[1] if worst else None, step)
