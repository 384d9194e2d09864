"""Per-layer series as a grid of layers x step buckets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.core.robust import center_and_scale
from apps.metrics.domain.layer_keys import LayerKey, Recogniser
from apps.metrics.domain.layer_statistics import ORDER
from apps.metrics.domain.tiers import Buckets

NamedLayer = tuple[str, LayerKey]
Cells = list[float | None]

FIRST = ("tok", "embed", "emb", "word_emb", "wte", "wpe", "pos", "shared")
FAR_Z = 12.0
"""A module this far out is shown although its layer as a whole is not."""


@dataclass(frozen=True, slots=True)
class LayerRow:
    """A row of the heatmap. place: what is opened by it, "" when it is a module itself."""

    label: str
    place: str
    keys: tuple[str, ...]


def by_statistic(names: Iterable[str], reader: Recogniser) -> dict[str, list[NamedLayer]]:
    """statistic -> the names that speak of it, the statistics in the order of their use."""
    found: dict[str, list[NamedLayer]] = {}
    for name in names:
        layer = reader.recognise(name)
        if layer is not None:
            found.setdefault(layer.statistic, []).append((name, layer))
    return dict(sorted(found.items(), key=lambda one: ORDER[one[0]]))


def layer_rows(named: Sequence[NamedLayer]) -> list[LayerRow]:
    """One row a layer, in the order of the network: embedding, layers by number, head.

    A layer that has series of its own is shown by these, others by all their modules together.
    """
    places: dict[str, list[NamedLayer]] = {}
    for name, layer in sorted(named, key=lambda one: _order(one[1])):
        places.setdefault(layer.place, []).append((name, layer))
    return [
        LayerRow(place, place if any(layer.part for _, layer in group) else "", _whole(group))
        for place, group in places.items()
    ]


def module_rows(named: Sequence[NamedLayer], place: str) -> list[LayerRow]:
    """One row a series of one layer, by module."""
    inside = [(name, layer) for name, layer in named if layer.place == place]
    inside.sort(key=lambda one: (natural(one[1].part), one[0]))
    return [LayerRow(layer.part or "whole layer", "", (name,)) for name, layer in inside]


def _whole(group: Sequence[NamedLayer]) -> tuple[str, ...]:
    own = tuple(name for name, layer in group if not layer.part)
    return own or tuple(name for name, _ in group)


def _order(layer: LayerKey) -> tuple[Any, ...]:
    if layer.layer is not None:
        return 1, natural(layer.stage), layer.stack, layer.layer
    first = layer.module.lower().startswith(FIRST)
    return 0 if first else 2, natural(layer.stage), layer.module, 0


def natural(text: str) -> list[tuple[int, int | str]]:
    """A sort key in which "x.2" comes before "x.10"."""
    return [
        (0, int(part)) if part.isdecimal() else (1, part)
        for part in re.split(r"([0-9]+)", text)
        if part
    ]


def edges_at(first_step: int, last_step: int, level: int) -> list[int]:
    """The edges of the buckets of 2^level steps that cover both steps."""
    low, high = first_step >> level, (last_step >> level) + 1
    return [edge << level for edge in range(low, high + 1)]


def row(buckets: Buckets, level: int, edges: Sequence[int]) -> list[float | None]:
    """The largest finite value in each cell; NaN if all are non-finite, None if there is none.

    Buckets outside the edges are left out.
    """
    at = (buckets.step - edges[0]) >> level
    inside = (at >= 0) & (at < len(edges) - 1)
    at = at[inside]
    top = np.full(len(edges) - 1, np.nan)
    np.fmax.at(top, at, buckets.maximum[inside])
    seen = np.zeros(len(top), dtype=np.bool_)
    seen[at] = True
    return [
        value if known else None for value, known in zip(top.tolist(), seen.tolist(), strict=True)
    ]


def together(parts: Sequence[Cells], *, norm: bool) -> Cells:
    """The cells of a layer from those of its modules: the root of the sum of squares of norms, the
    largest of anything else. NaN where a module has only non-finite values, None where none has
    any."""
    if len(parts) == 1:
        return parts[0]
    logged = [any(cell is not None for cell in column) for column in zip(*parts, strict=True)]
    empty = 0.0 if norm else -np.inf
    values = np.array([[empty if c is None else c for c in part] for part in parts])
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.sqrt((values**2).sum(axis=0)) if norm else values.max(axis=0)
    return [cell if known else None for cell, known in zip(whole.tolist(), logged, strict=True)]


def layer_z(whole: Cells, parts: Sequence[Cells]) -> Cells:
    """How far a layer is out: its own z, but where one of its modules is FAR_Z out, that one's."""
    z = robust_z(whole)
    if len(parts) == 1:
        return z
    inside = np.array([[np.nan if c is None else c for c in robust_z(part)] for part in parts])
    far = np.where(np.isfinite(inside) & (np.abs(inside) > FAR_Z), inside, 0.0)
    worst = far[np.abs(far).argmax(axis=0), np.arange(far.shape[1])]
    return [
        float(other) if cell is not None and cell == cell and abs(other) > abs(cell) else cell
        for cell, other in zip(z, worst, strict=True)
    ]


def robust_z(cells: Sequence[float | None]) -> list[float | None]:
    """Each cell's distance from the median of its row, in robust standard deviations.

    The scale is at least 1 % of the median, so that a constant row stays at 0.
    """
    values = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return [cell if cell is None else float("nan") for cell in cells]
    middle, scale = center_and_scale(finite)
    scale = max(scale, 0.01 * abs(middle), 1e-300)
    with np.errstate(over="ignore"):
        found = ((values - middle) / scale).tolist()
    return [None if cell is None else z for cell, z in zip(cells, found, strict=True)]
