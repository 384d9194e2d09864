"""What apps/logs hands out. Frozen, without Django."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apps.core.records import MetricRow, Severity


@dataclass(frozen=True, slots=True)
class LinesWritten:
    """What one batch added. gaps: holes it opened; skipped_lines: were stored already; late_lines:
    came long after younger ones.

    last_ns, last_step: newest of the new lines of ranks; None if there is none. rank_rows,
    job_rows: what new lines tell of one rank, and of the whole job, each once. job_copies: the
    same, told by further files.
    """

    lines: int = 0
    errors: int = 0
    warnings: int = 0
    gaps: int = 0
    skipped_lines: int = 0
    late_lines: int = 0
    last_ns: int | None = None
    last_step: int | None = None
    rank_rows: tuple[MetricRow, ...] = ()
    job_rows: tuple[MetricRow, ...] = ()
    job_copies: int = 0


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line as read back; the fields of LogLine and its place. node: None if unknown.

    source: the file; `#1` behind it for what came after its first rotation.
    """

    attempt: int
    node: str | None
    time_ns: int
    seq: int
    source: str
    channel: str
    local_rank: int | None
    rank: int | None
    severity: int
    step: int | None
    text: str


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which lines. None or () or "" = no condition; all conditions hold at once.

    text, words: each a substring; without: substrings that must not occur. regex: RE2 syntax, `^`
    and `$` are the ends of a line. ignore_case: of words, without and regex; the case of text
    always matters. ranks: any of them; rank_spans: inclusive spans, added to ranks. node, nodes:
    any of them. source: part of the file's name. templates: ids, any of them.
    from_step, to_step: inclusive; lines that name a step name one of these, others are of the
    minutes in which lines do (search.py). from_ns, to_ns: inclusive. after_cursor: next_cursor of
    the page before. newest_first: read backwards. copies: also console lines that repeat a rank
    file.
    max_chunks, max_s: chunks to decompress and seconds to search at most; then a page is partial.
    """

    run_id: int
    attempt: int | None = None
    ranks: tuple[int, ...] = ()
    node: str | None = None
    min_severity: int = Severity.DEBUG
    text: str = ""
    from_ns: int | None = None
    to_ns: int | None = None
    after_cursor: str | None = None
    limit: int = 200
    newest_first: bool = False
    copies: bool = False
    max_chunks: int = 400
    rank_spans: tuple[tuple[int, int], ...] = ()
    nodes: tuple[str, ...] = ()
    max_severity: int = Severity.CRITICAL
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    regex: str = ""
    ignore_case: bool = False
    source: str = ""
    templates: tuple[int, ...] = ()
    from_step: int | None = None
    to_step: int | None = None
    max_s: float = 20.0


@dataclass(frozen=True, slots=True)
class LogPage:
    """Lines in key order (time_ns, rank, seq, source). next_cursor: None at the end.

    chunks_total: chunks that may hold lines of the query (from the page's start on);
    chunks_scanned: decompressed for this page. partial: stopped at max_chunks; go on with
    next_cursor.
    """

    lines: tuple[LogEntry, ...]
    next_cursor: str | None
    chunks_scanned: int
    chunks_total: int
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a search found since the part before, in key order, and how far it is.

    chunks_scanned, chunks_total: since the search began. next_cursor: go on there after this part
    (None: nothing is behind it). done: no further part comes. partial: it stopped at max_chunks or
    max_s before all was searched.
    """

    lines: tuple[LogEntry, ...]
    chunks_scanned: int
    chunks_total: int
    next_cursor: str | None
    done: bool = False
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Pulse:
    """Lines by severity over time. Bucket i begins at edges_ns[i] and ends before edges_ns[i + 1].

    severities: of the columns. counts: int64[buckets, severities], of all nodes; nodes: the same
    of each node ("" = unknown), ascending by name. Console copies of rank files do not count.
    Minutes are counted whole: a bucket holds the minutes that begin in it.
    """

    edges_ns: NDArray[np.int64]
    severities: tuple[int, ...]
    counts: NDArray[np.int64]
    nodes: Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class RankMatrix:
    """Worst severity of each rank over time; buckets as in Pulse.

    ranks: int32[n], ascending. worst: uint8[n, buckets], a Severity, 0 = silent.
    """

    edges_ns: NDArray[np.int64]
    ranks: NDArray[np.int32]
    worst: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class RankActivity:
    """One rank of an attempt. last_ns None: it is placed but printed nothing.

    lines: of its own files, or of the console where it has none.
    """

    rank: int | None
    node: str | None
    local_rank: int | None
    last_ns: int | None
    last_step: int | None
    worst_severity: int
    lines: int
    last_text: str


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """One log file as far as it was stored. missing_bytes: in gaps."""

    node: str | None
    source: str
    generation: int
    channel: str
    local_rank: int | None
    end_offset: int
    lines: int
    skipped_lines: int
    gaps: int
    missing_bytes: int
    last_ns: int | None
