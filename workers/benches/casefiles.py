"""The log files of a job that failed, in one folder, as an agent that knows their names reads them.

Of a job that was restarted by torchrun the files of its first start count: there the trouble began.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from apps.core.records import MetricRow, Severity
from apps.logs.domain.clock.skew import host_clocks, pack, unpack
from apps.logs.domain.clock.steptimes import first_times
from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import (
    CONSOLE,
    Lines,
    ParsedSegment,
    ParsePolicy,
    SegmentMeta,
)
from apps.logs.domain.triage.assemble import EventRow, Known, assemble
from apps.logs.domain.triage.case import AttemptFacts
from apps.logs.domain.triage.classify import Taxonomy
from apps.logs.domain.triage.flight_dump import Dump, read_dump
from apps.logs.domain.triage.ranks import RankState, SlotKey, fold_lines, fold_placements
from workers.tailer.logfile import Origin
from workers.tailer.pathsources import PathSource, found_log
from workers.tailer.templates import Match, find, parse

FILES = (
    "logs/{node}/attempt_{attempt}/{local_rank}/{channel}.log",
    "torchrun/*/attempt_{attempt}/{local_rank}/{channel}.log",
    "{node}/*/attempt_{attempt}/{local_rank}/{channel}.log",
    "logs/{node}/attempt_{attempt}/{local_rank}/error.json",
    "rank_{rank}.log",
    "rank_{rank}.error.json",
    "console_{node}.log",
    "console-{node}.log",
    "agent_{node}.log",
    "var_log_pods_{node}_*.log",
    "slurm*.out",
    "*.log",
    "*.txt",
)
"""Paths below the folder; a file is of the first that fits."""
DUMPS = ("fr/_dump_{rank}", "fr_json/rank_{rank}.json")
"""Paths of flight recorder dumps below the folder; JSON is read where there is nothing else."""
SEEN_NS = 1_795_985_000_000_000_000
"""When the files are read, for lines without a time."""


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file and what its path says of its lines. node: "" if it says none."""

    path: Path
    node: str
    attempt: int
    origin: Origin


def files_of(folder: Path) -> list[CaseFile]:
    """The log files of a case, those of later starts left out."""
    found: dict[Path, CaseFile] = {}
    for pattern in FILES:
        template = parse(f"{folder}/{pattern}")
        source = PathSource("slurm" if pattern.startswith("slurm") else "logs", template,
                            tasks="rank")  # fmt: skip
        for match in find(template):
            found.setdefault(match.path, _file(source, match))
    first = min((one.attempt for one in found.values() if _is_of_process(one)), default=0)
    return [one for one in found.values() if not _is_of_process(one) or one.attempt == first]


def _file(source: PathSource, match: Match) -> CaseFile:
    log = found_log(source, match, run="case", node="")
    return CaseFile(match.path, log.node, int(match.said.get("attempt", 0)), log.origin)


def _is_of_process(one: CaseFile) -> bool:
    return one.origin.rank is not None or one.origin.local_rank is not None


@dataclass(slots=True)
class CaseLines:
    """What the lines of a case say, before anybody judges them."""

    states: dict[SlotKey, RankState] = field(default_factory=dict)
    rows: list[EventRow] = field(default_factory=list)
    steps: dict[str, list[bytes]] = field(default_factory=dict)
    metrics: list[MetricRow] = field(default_factory=list)
    lines: int = 0

    def take(self, one: CaseFile, parsed: ParsedSegment) -> None:
        """The lines of one file."""
        columns = LineColumns.of(parsed.lines)
        fold_lines(self.states, one.node, columns)
        fold_placements(self.states, one.node, parsed.placements)
        self.rows += rows_of(one.node, parsed.lines)
        self.steps.setdefault(one.node, []).append(pack(first_times(columns)))
        self.metrics += parsed.metrics
        self.lines += len(columns)

    def facts(self, taxonomy: Taxonomy) -> AttemptFacts:
        """What the first-failure rule decides on."""
        times = {node: unpack(b"".join(bodies)) for node, bodies in self.steps.items() if node}
        known = Known(clocks=host_clocks(times))
        return assemble(self.rows, self.states.values(), taxonomy, known)


def lines_of(files: Sequence[CaseFile]) -> CaseLines:
    """What these files say."""
    alone = not any(map(_is_of_process, files))
    said = CaseLines()
    for one in files:
        said.take(one, _parsed(one, alone=alone))
    return said


def dumps_of(folder: Path) -> dict[int, Dump]:
    """Global rank -> its flight recorder dump. Raises BadPayload if one cannot be read."""
    for pattern in DUMPS:
        found = {int(one.said["rank"]): one.path for one in find(parse(f"{folder}/{pattern}"))}
        if found:
            return {rank: read_dump(path.read_bytes(), rank) for rank, path in found.items()}
    return {}


def _parsed(one: CaseFile, *, alone: bool) -> ParsedSegment:
    origin = one.origin
    meta = SegmentMeta(
        source=origin.source,
        channel=origin.channel,
        local_rank=origin.local_rank,
        node=one.node or None,
        offset=0,
        seen_ns=SEEN_NS,
        rank=origin.rank,
    )
    policy = ParsePolicy(tasks_are_ranks=origin.tasks_are_ranks, alone=alone and origin.alone)
    return parse_segment(meta, one.path.read_bytes(), policy)


def rows_of(node: str, lines: Lines) -> Iterator[EventRow]:
    """The lines that the store would keep as rows: warnings and worse, no frames of tracebacks."""
    columns = LineColumns.of(lines)
    frame = columns.frames(np.arange(len(columns)))
    for number, line in enumerate(columns):
        if line.severity >= Severity.WARNING and (not frame[number] or line.channel == CONSOLE):
            yield EventRow(
                time_ns=line.time_ns,
                node=node,
                source=line.source,
                channel=line.channel,
                seq=line.seq,
                local_rank=line.local_rank,
                rank=line.rank,
                severity=line.severity,
                message=columns.message(number),
            )
