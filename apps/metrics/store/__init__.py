"""Every statement against the tables of metrics. Only this package knows how points are stored."""

from apps.metrics.records import (
    CellGrid,
    CellQuery,
    KeyInfo,
    Points,
    SeriesQuery,
    SeriesWindow,
    WriteResult,
)
from apps.metrics.store.compaction import compact_once, runs_to_compact
from apps.metrics.store.detectors import (
    DetectorState,
    FreshRows,
    Span,
    detector_state,
    lock_detector,
    save_detector,
    take_fresh,
)
from apps.metrics.store.glances import (
    glances,
    save_glance,
    save_goodput,
    stale_glances,
    stale_goodputs,
)
from apps.metrics.store.names import all_names, key_names, keys, names_of, newer_keys
from apps.metrics.store.naming import naming_of, naming_of_run, note_again, save_naming
from apps.metrics.store.planned import (
    MAX_PLANNED,
    PlannedInfo,
    add_planned,
    get_planned,
    planned,
    remove_planned,
)
from apps.metrics.store.policies import (
    MovedThresholds,
    save_thresholds,
    thresholds_of,
    thresholds_of_run,
)
from apps.metrics.store.read import (
    count_points,
    latest,
    read_cells,
    read_matrix,
    read_rank_rows,
    read_rank_series,
    read_rows,
    read_series,
    step_windows,
)
from apps.metrics.store.siblings import (
    Reference,
    SiblingSet,
    save_curves,
    save_siblings,
    siblings_of,
)
from apps.metrics.store.signals import (
    save_signal_rules,
    signal_rules_of,
    signal_rules_of_run,
)
from apps.metrics.store.write import write_rows

__all__ = [
    "MAX_PLANNED",
    "CellGrid",
    "CellQuery",
    "DetectorState",
    "FreshRows",
    "KeyInfo",
    "MovedThresholds",
    "PlannedInfo",
    "Points",
    "Reference",
    "SeriesQuery",
    "SeriesWindow",
    "SiblingSet",
    "Span",
    "WriteResult",
    "add_planned",
    "all_names",
    "compact_once",
    "count_points",
    "detector_state",
    "get_planned",
    "glances",
    "key_names",
    "keys",
    "latest",
    "lock_detector",
    "names_of",
    "naming_of",
    "naming_of_run",
    "newer_keys",
    "note_again",
    "planned",
    "read_cells",
    "read_matrix",
    "read_rank_rows",
    "read_rank_series",
    "read_rows",
    "read_series",
    "remove_planned",
    "runs_to_compact",
    "save_curves",
    "save_detector",
    "save_glance",
    "save_goodput",
    "save_naming",
    "save_siblings",
    "save_signal_rules",
    "save_thresholds",
    "siblings_of",
    "signal_rules_of",
    "signal_rules_of_run",
    "stale_glances",
    "stale_goodputs",
    "step_windows",
    "take_fresh",
    "thresholds_of",
    "thresholds_of_run",
    "write_rows",
]
