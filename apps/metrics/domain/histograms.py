"""A histogram as numbers, so that a layer's gradients and weights can be followed over steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

MAX_BINS = 4_096
FIGURES = ("mean", "std", "rms", "max_abs", "norm")


def figures(counts: Sequence[float], edges: Sequence[float]) -> dict[str, float] | None:
    """mean, std, rms, max_abs and norm of the values that were counted; None if it is no histogram.

    counts: n numbers >= 0, not all 0. edges: n + 1 finite numbers that do not fall. All values of a
    bin are taken to lie in its middle, so mean, std, rms are off by at most half a bin. max_abs is
    the outer edge of the outermost bins with values: exact for W&B, whose outer edges are the
    extremes. norm: the root of the sum of squares, rms * sqrt(how many). One value repeated (numpy
    then draws one unit around it) is that value. How many were NaN or zero cannot be told: wandb
    leaves non-finite values out, and the bin around zero holds small ones too.
    """
    if not 0 < len(counts) <= MAX_BINS or len(edges) != len(counts) + 1:
        return None
    try:
        count = np.array(counts, dtype=np.float64)
        edge = np.array(edges, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    total = count.sum()
    fine = count.ndim == edge.ndim == 1 and np.isfinite(edge).all() and np.isfinite(total)
    if not fine or total <= 0 or (count < 0).any() or (edge[1:] < edge[:-1]).any():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        return _figures(count, edge, float(total))


def _figures(count: Any, edge: Any, total: float) -> dict[str, float]:
    filled = np.flatnonzero(count)
    middle = edge[:-1] / 2 + edge[1:] / 2
    if len(filled) == 1 and abs(edge[-1] - edge[0] - 1.0) < 1e-6:
        middle = np.full_like(middle, edge[0] / 2 + edge[-1] / 2)
        outer = abs(float(middle[0]))
    else:
        outer = float(max(abs(edge[filled[0]]), abs(edge[filled[-1] + 1])))
    share = count / total
    scale = max(float(np.abs(middle).max()), 1e-300)
    mean = float((share * (middle / scale)).sum())
    rms = float(np.sqrt((share * (middle / scale) ** 2).sum()))
    return {
        "mean": mean * scale,
        "std": float(np.sqrt((share * (middle / scale - mean) ** 2).sum())) * scale,
        "rms": rms * scale,
        "max_abs": outer,
        "norm": rms * scale * float(np.sqrt(total)),
    }


def of_wandb(value: dict[str, Any]) -> dict[str, float] | None:
    """The figures of W&B's form of a histogram, bins as edges or packed; None if it is none."""
    if value.get("_type") != "histogram":
        return None
    counts, edges, packed = value.get("values"), value.get("bins"), value.get("packedBins")
    if edges is None and isinstance(packed, dict) and isinstance(counts, list):
        edges = _unpacked(packed, len(counts))
    if not isinstance(counts, list) or not isinstance(edges, list):
        return None
    return figures(counts, edges)


def _unpacked(packed: dict[str, Any], count: int) -> list[float] | None:
    low, size = packed.get("min"), packed.get("size")
    if not isinstance(low, int | float) or not isinstance(size, int | float) or count > MAX_BINS:
        return None
    try:
        return [float(low) + float(size) * at for at in range(count + 1)]
    except OverflowError:
        return None
