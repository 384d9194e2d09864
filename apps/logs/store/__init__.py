"""Every statement against the tables of logs."""

from apps.logs.store.context import context_of, line_of
from apps.logs.store.faultclasses import (
    add_revision,
    own_classes,
    revisions,
    taxonomy_of_run,
)
from apps.logs.store.files import FileContext, FileKey, contexts
from apps.logs.store.overview import arrivals, extent, line_counts, newest_chunk
from apps.logs.store.payloads import check_bucket
from apps.logs.store.pulse import attempt_hours, hour_span, node_hours
from apps.logs.store.reading import (
    end_offset,
    end_offsets,
    file_totals,
    heard,
    rank_activity,
    source_count,
    sources,
)
from apps.logs.store.searching import read_lines, scan_lines
from apps.logs.store.stepclocks import clocks
from apps.logs.store.templates import template_texts
from apps.logs.store.triage import (
    event_rows,
    look_again_ns,
    mark_again,
    rank_states,
    save_triage,
    take_triage,
)
from apps.logs.store.writing import LineWriter, PackedLines, write_lines

__all__ = [
    "FileContext",
    "FileKey",
    "LineWriter",
    "PackedLines",
    "add_revision",
    "arrivals",
    "attempt_hours",
    "check_bucket",
    "clocks",
    "context_of",
    "contexts",
    "end_offset",
    "end_offsets",
    "event_rows",
    "extent",
    "file_totals",
    "heard",
    "hour_span",
    "line_counts",
    "line_of",
    "look_again_ns",
    "mark_again",
    "newest_chunk",
    "node_hours",
    "own_classes",
    "rank_activity",
    "rank_states",
    "read_lines",
    "revisions",
    "save_triage",
    "scan_lines",
    "source_count",
    "sources",
    "take_triage",
    "taxonomy_of_run",
    "template_texts",
    "write_lines",
]
