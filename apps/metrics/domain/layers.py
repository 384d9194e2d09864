"""Per-layer series as a grid of layers x step buckets."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from apps.core.robust import center_and_scale
from apps.metrics.domain import tiers
from apps.metrics.domain.tiers import Buckets

FIRST = ("tok", "embed", "embedding", "wte", "wpe", "emb", "pos")
LAST = ("norm", "ln_f", "final_norm", "head", "lm_head", "output", "unembed")


def in_network_order(names: Sequence[str]) -> list[str]:
    """Embedding first, layers by number, head last; other names between, alphabetically."""
    return sorted(names, key=_order)


def _order(name: str) -> tuple[int, list[tuple[int, int | str]]]:
    tail = name.rpartition("/")[2].lower()
    place = 0 if tail.startswith(FIRST) else 2 if tail in LAST else 1
    parts: list[tuple[int, int | str]] = [
        (0, int(part)) if part.isdecimal() else (1, part)
        for part in re.split(r"(\d+)", tail)
        if part
    ]
    return place, parts


def edges_at(first_step: int, last_step: int, level: int) -> list[int]:
    """The edges of the buckets of 2^level steps that cover both steps."""
    low, high = first_step >> level, (last_step >> level) + 1
    return [edge << level for edge in range(low, high + 1)]


def row(buckets: Buckets, level: int, edges: Sequence[int]) -> list[float | None]:
    """The largest finite value in each cell; NaN if all are non-finite, None if there is none.

    Buckets outside the edges are left out.
    """
    cells: list[float | None] = [None] * (len(edges) - 1)
    inside = buckets.take((buckets.step >= edges[0]) & (buckets.step < edges[-1]))
    found = tiers.regroup(inside, level)
    for at, top, count in zip(found.step, found.maximum, found.count, strict=True):
        cells[(int(at) - edges[0]) >> level] = float(top) if count else float("nan")
    return cells


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
    return [None if cell is None else (cell - middle) / scale for cell in cells]
