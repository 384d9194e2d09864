"""Every statement against the tables of metrics. Only this package knows how points are stored."""

from apps.metrics.records import (
    KeyInfo,
    LayerGrid,
    LayerQuery,
    Points,
    SeriesQuery,
    SeriesWindow,
    WriteResult,
)
from apps.metrics.store.compaction import compact_once, runs_to_compact
from apps.metrics.store.detectors import (
    FreshRows,
    lock_detector,
    save_detector,
    take_fresh,
)
from apps.metrics.store.names import key_names, keys
from apps.metrics.store.read import (
    count_points,
    latest,
    layer_grid,
    read_rank_rows,
    read_rows,
    read_series,
)
from apps.metrics.store.write import write_rows

__all__ = [
    "FreshRows",
    "KeyInfo",
    "LayerGrid",
    "LayerQuery",
    "Points",
    "SeriesQuery",
    "SeriesWindow",
    "WriteResult",
    "compact_once",
    "count_points",
    "key_names",
    "keys",
    "latest",
    "layer_grid",
    "lock_detector",
    "read_rank_rows",
    "read_rows",
    "read_series",
    "runs_to_compact",
    "save_detector",
    "take_fresh",
    "write_rows",
]
