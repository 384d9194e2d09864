"""What the store of metrics takes and gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What one write did. nonfinite: NaN and infinities among the points.

    duplicate_steps, backward_steps: rows of this batch that repeat a (step, rank) of the batch, or
    lie before an earlier row of the batch with the same rank. Both kinds are kept.
    """

    points: int
    first_step: int | None
    last_step: int | None
    nonfinite: int
    duplicate_steps: int
    backward_steps: int


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """One series name of a run. ranks: logged per rank; the same name may exist in both forms.

    last_step: of its newest block; a name logged every tenth step may be up to one flush too high.
    """

    key: str
    ranks: bool
    last_step: int | None


@dataclass(frozen=True, slots=True)
class SeriesQuery:
    """Which series to read. None: all attempts, all ranks, from the start, to the end.

    Both ends are included. points: how many buckets a series may have at most.
    """

    run_id: int
    keys: tuple[str, ...]
    attempt: int | None = None
    rank: int | None = None
    from_step: int | None = None
    to_step: int | None = None
    points: int = 1000


@dataclass(frozen=True, slots=True)
class SeriesWindow:
    """One series in buckets of `bucket_steps` steps whose edges are multiples of it.

    step, time_ns: of the newest finite point of each bucket. min, max, last: finite, of the bucket;
    where a step was logged twice, the value that arrived last is `last`. count: its finite points.
    nonfinite: (step, "NaN" | "Infinity" | "-Infinity"), the first 1,000; such points are in no
    bucket. points_stored: finite and non-finite points in the range. points_drawn: buckets.
    """

    key: str
    attempt: int
    rank: int | None
    step: list[int]
    time_ns: list[int]
    min: list[float]
    max: list[float]
    last: list[float]
    count: list[int]
    nonfinite: list[tuple[int, str]]
    points_stored: int
    points_drawn: int
    bucket_steps: int


@dataclass(frozen=True, slots=True)
class CellQuery:
    """Series of one attempt as cells of one grid. buckets: at most so many columns."""

    run_id: int
    attempt: int
    keys: tuple[str, ...]
    buckets: int = 240
    from_step: int | None = None
    to_step: int | None = None


@dataclass(frozen=True, slots=True)
class CellGrid:
    """step_edges[m + 1]; cells: name -> m cells, without the names that have no point there.

    A cell is the largest finite value of its bucket. None: nothing logged there. NaN: only
    non-finite values there.
    """

    step_edges: list[int]
    cells: dict[str, list[float | None]]


@dataclass(frozen=True, slots=True)
class LayerQuery:
    """A heatmap. statistic: a slug, None: the first one the run logs. layer: a place such as
    "layer 12": its modules instead of all layers. prefix: series whose name starts with it, one a
    row, whatever they are. labels: only these rows, all if there are none."""

    run_id: int
    attempt: int
    statistic: str | None = None
    layer: str = ""
    prefix: str = ""
    labels: tuple[str, ...] = ()
    buckets: int = 240
    from_step: int | None = None
    to_step: int | None = None


@dataclass(frozen=True, slots=True)
class LayerGrid:
    """layers[n] in the order of the network, step_edges[m + 1], value[n][m], z[n][m].

    layers: labels. places: what a row opens into, "" for nothing. series: the names of each row.
    value: the largest finite value of the bucket, of a layer with modules see `layers.together`.
    z: robust standard deviations from the row's own median over the range. None: nothing logged
    there. NaN: only non-finite values there. left_out: series beyond the bound.
    """

    layers: list[str]
    step_edges: list[int]
    value: list[list[float | None]]
    z: list[list[float | None]]
    places: list[str]
    series: list[list[str]]
    statistic: str | None = None
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Points:
    """Points of one series as they are stored: by step, at equal steps in order of arrival.

    step, time_ns: int64[n]; value: float64[n]; rank: int32[n] or None.
    """

    step: npt.NDArray[np.int64]
    time_ns: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    rank: npt.NDArray[np.int32] | None = None
