"""What the parser is given and what it gives: a piece of a log file, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.records import MetricRow
from apps.logs.domain.reading.carry import Carry
from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.facts import Placement
from apps.logs.domain.reading.joblines import JobRow
from apps.logs.domain.reading.table import LineTable

Lines = LineTable | LineColumns
CONSOLE = "console"
TEE = "tee"
STDOUT = "stdout"


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentMeta:
    """Where a piece of a file comes from.

    source: stable id of the file. channel: stderr, stdout or console (what torchrun printed for
    all ranks of the node). local_rank: of the file, None for a console. offset: of the first byte,
    inside `generation` (counts up when the file is rotated or truncated). seen_ns: agent's clock
    when it read the bytes. previous_ns: time of the last line stored of this file, if known.
    time_shift_ns: added to every time (a replay moves its data to now); previous_ns has it already.
    partial: the last line is not whole: it is text, and tells no numbers. rank: of all its lines,
    where the sender says it. carry: what the bytes before `offset` left open, if they are known.
    """

    source: str
    channel: str
    local_rank: int | None
    node: str | None
    offset: int
    seen_ns: int
    generation: int = 0
    previous_ns: int | None = None
    time_shift_ns: int = 0
    partial: bool = False
    rank: int | None = None
    carry: Carry | None = None


@dataclass(frozen=True, slots=True)
class ParsePolicy:
    """Switches of the parser.

    zone_offset_s: seconds east of UTC of stamps without a zone. tasks_are_ranks: the `N: ` labels
    of a console are global ranks (one Slurm task per rank), not local ones. alone: a console is
    all there is of its processes, so that their lines and numbers are no copies of rank files.
    plain: a line is never opened as one that holds another.
    """

    zone_offset_s: int = 0
    tasks_are_ranks: bool = False
    alone: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True)
class ParsedSegment:
    """What one segment says. end: offset after its last byte.

    lines: in file order. long_lines: longer than 64 KiB, in pieces that say so.
    invalid_utf8_bytes: replaced by U+FFFD. metrics: what lines tell of one rank;
    metric_lines: their lines. job: what lines tell of the whole job; the files of several ranks may
    tell the same. unplaced_job_lines: told numbers of the job but no step. carry: for the segment
    that begins at `end`.
    """

    meta: SegmentMeta
    end: int
    lines: Lines
    metrics: Sequence[MetricRow]
    placements: Sequence[Placement]
    invalid_utf8_bytes: int
    long_lines: int
    carry: Carry
    metric_lines: Sequence[int] = ()
    job: Sequence[JobRow] = ()
    unplaced_job_lines: int = 0
