"""Recorded failures for the tests of apps/logs: files of a run folder to the verdict on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import ParsedSegment, SegmentMeta
from apps.logs.domain.triage.assemble import assemble
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.first_failure import first_failure
from apps.logs.domain.triage.ranks import fold_lines, fold_placements
from tests import servers
from workers.benches.casefiles import rows_of
from workers.demo import recordings

SEEN_NS = 1_795_985_000_000_000_000
SAMPLES = Path(__file__).parent / "samples/logs"


@dataclass(frozen=True)
class LogFile:
    """One log file and what its path says."""

    path: Path
    node: str
    channel: str
    local_rank: int | None

    @property
    def source(self):
        return "/".join(self.path.parts[-4:])

    def segment(self, **changes) -> ParsedSegment:
        """The whole file as one segment."""
        values = {
            "source": self.source,
            "channel": self.channel,
            "local_rank": self.local_rank,
            "node": self.node,
            "offset": 0,
            "seen_ns": SEEN_NS,
        } | changes
        return parse_segment(SegmentMeta(**values), self.path.read_bytes())


@lru_cache
def recorded(run):
    """Folder of a recorded run, unpacked once a session."""
    return recordings.unpack(run, servers.HOME / "recordings")


def rank_files(folder, suffix=""):
    """Rank files of the first start (suffix "-2": of the second)."""
    found = sorted(folder.glob(f"*{suffix}/*/attempt_0/*/std*.log"))
    return [
        LogFile(path, _node(path.parts[-5]), path.stem, int(path.parts[-2]))
        for path in found
        if path.parts[-5].endswith("-2") == bool(suffix)
    ]


def consoles(folder, suffix=""):
    """Consoles of the first start (suffix "-2": of the second)."""
    found = sorted(folder.glob(f"console*{suffix}.log"))
    return [
        LogFile(path, _node(path.stem.removeprefix("console").lstrip("-")), "console", None)
        for path in found
        if path.stem.endswith("-2") == bool(suffix)
    ]


def _node(name):
    """`gpu-b02-2` -> gpu-b02; runs on one host have no name in their folders: gpu-a01."""
    return next((node for node in ("gpu-b02", "gpu-b03") if name.startswith(node)), "gpu-a01")


def all_files(folder):
    return rank_files(folder) + consoles(folder)


def console_only(folder):
    return consoles(folder)


def rank_files_only(folder):
    return rank_files(folder)


def case_of(files):
    """The case that these files make."""
    states, rows = {}, []
    for file in files:
        parsed = file.segment()
        fold_lines(states, file.node, LineColumns.of(parsed.lines))
        fold_placements(states, file.node, parsed.placements)
        rows += rows_of(file.node, parsed.lines)
    return assemble(rows, states.values(), taxonomy())


def verdict_of(files):
    """The verdict on these files, or None."""
    return first_failure(case_of(files), taxonomy())


def injected(case):
    """Files of one injected case: consoles and rank files of two nodes with two ranks each."""
    folder = SAMPLES / "cases" / case
    found = [
        LogFile(path, path.stem.removeprefix("console_"), "console", None)
        for path in sorted(folder.glob("console_*.log"))
    ]
    return found + [
        LogFile(path, path.parts[-4], "stderr", int(path.parts[-2]))
        for path in sorted(folder.glob("logs/*/attempt_0/*/stderr.log"))
    ]


def rank_logs(case):
    """Files of a case with one log a rank and no known node."""
    folder = SAMPLES / "cases" / case
    return [LogFile(path, "", "stderr", None) for path in sorted(folder.glob("rank_*.log"))]
