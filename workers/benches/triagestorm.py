"""`bench triage` without --data: how long the first-failure rule takes when a whole job dies.

One rank of 16,384 finds an uncorrectable memory error; a minute later the watchdog of every other
one gives up, and each node's agent reports. Measured: the rule alone on facts in memory, then
logs.services.triage() on the same lines in Postgres, the first time and again with one line more.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from apps.logs import services, store
from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import CONSOLE, ParsedSegment, SegmentMeta
from apps.logs.domain.triage.assemble import EventRow, assemble
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.course import course_of
from apps.logs.domain.triage.first_failure import first_failure
from apps.logs.domain.triage.ranks import RankState, SlotKey, fold_lines
from apps.runs import store as runs
from workers.benches.casefiles import rows_of
from workers.benches.report import BenchOptions, BenchReport
from workers.benches.servers import servers

RANKS: Final = 16_384
LINES: Final = 100
GPUS: Final = 8
NOW_NS: Final = 1_795_985_000_000_000_000
_S: Final = 1_000_000_000
_DAY: Final = "2026-11-29 20:"
_TAIL: Final = 8
"""Lines a rank prints when it dies; the others are steps before."""


@dataclass(frozen=True, slots=True)
class Storm:
    """A job whose rank `guilty` fails first. ranks: a multiple of GPUS."""

    ranks: int
    lines: int

    @property
    def guilty(self) -> int:
        """Somewhere in the middle."""
        return self.ranks * 2 // 3

    def nodes(self) -> Iterator[tuple[str, list[ParsedSegment]]]:
        """Each node with the files of its ranks and its agent's console."""
        for first in range(0, self.ranks, GPUS):
            node = f"gpu-{first // GPUS:04d}"
            files = [self.rank_file(node, first + at, at) for at in range(GPUS)]
            yield node, [*files, self.console(node, first)]

    def rank_file(self, node: str, rank: int, local_rank: int) -> ParsedSegment:
        """What one rank prints."""
        said = [
            f"{_DAY}00:{at * 50 // self.lines:02d}.000 [INFO] [rank{rank}] step {at} loss=1.5"
            for at in range(max(self.lines - _TAIL, 1))
        ]
        said += self.cause(rank) if rank == self.guilty else self.cascade(rank)
        return _parsed(f"{node}/{local_rank}.log", "stderr", local_rank, node, said)

    def cause(self, rank: int) -> list[str]:
        """The end of the guilty one."""
        head = f"{_DAY}01:10.000 [ERROR] [rank{rank}] "
        return [
            head + "Traceback (most recent call last):",
            '  File "train.py", line 88, in step',
            "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
        ]

    def cascade(self, rank: int) -> list[str]:
        """The end of one that waits for it."""
        late = rank * 7 % 3_000
        head = f"{_DAY}02:{10 + late // 1000:02d}.{late % 1000:03d} [ERROR] [rank{rank}] "
        work = "WorkNCCL(SeqNum=64088, OpType=ALLREDUCE, Timeout(ms)=60000) ran for 60012"
        timeout = f"Watchdog caught collective operation timeout: {work} milliseconds"
        return [
            head + f"[Rank {rank}] {timeout} before timing out.",
            head + "Some NCCL operations have failed or timed out.",
            head + "To avoid data inconsistency, we are taking the entire process down.",
            "terminate called after throwing an instance of 'c10::DistBackendError'",
            f"  what():  [Rank {rank}] NCCL watchdog thread terminated with exception: {timeout}",
            "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7b1)",
            "frame #1: c10d::ProcessGroupNCCL::watchdogHandler() + 0x890 (0x7b2)",
            "Fatal Python error: Aborted",
        ]

    def console(self, node: str, first: int) -> ParsedSegment:
        """What the agent of a node reports: of the first to end there, as torchrun does."""
        rank, code = (self.guilty, 1) if first <= self.guilty < first + GPUS else (first, -6)
        head = "E1129 20:02:14.000000 900 torch/distributed/elastic/multiprocessing/api.py:874] "
        said = [
            f"{head}failed (exitcode: {code}) local_rank: {rank - first} (pid: {9_000 + rank})",
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
            "Root Cause (first observed failure):",
            f"  host      : {node}",
            f"  rank      : {rank} (local_rank: {rank - first})",
            f"  exitcode  : {code} (pid: {9_000 + rank})",
        ]
        return _parsed(f"{node}/console.log", CONSOLE, None, node, said)


def _parsed(
    source: str, channel: str, local_rank: int | None, node: str, said: list[str]
) -> ParsedSegment:
    meta = SegmentMeta(
        source=source, channel=channel, local_rank=local_rank, node=node, offset=0, seen_ns=NOW_NS
    )
    return parse_segment(meta, ("\n".join(said) + "\n").encode())


def run(options: BenchOptions) -> BenchReport:
    """keys: ranks, steps: lines of each. Times are seconds after the last line has arrived."""
    storm = Storm((options.keys or RANKS) // GPUS * GPUS, options.steps or LINES)
    figures: dict[str, float] = {"ranks": storm.ranks, "lines": storm.ranks * storm.lines}
    figures |= in_memory(storm)
    with servers() as running:
        figures |= in_postgres(storm, running.cpu_s)
    rows = tuple((name.replace("_", " "), f"{value:,}") for name, value in figures.items())
    return BenchReport(("storm", ""), rows, figures)


def in_memory(storm: Storm) -> dict[str, float]:
    """The rule alone: of the rows that the store would keep."""
    states: dict[SlotKey, RankState] = {}
    rows: list[EventRow] = []
    for node, segments in storm.nodes():
        for segment in segments:
            fold_lines(states, node, LineColumns.of(segment.lines))
            rows += rows_of(node, segment.lines)
    began_s = time.process_time()
    facts = assemble(rows, states.values(), taxonomy())
    verdict = first_failure(facts, taxonomy())
    cpu_s = time.process_time() - began_s
    if verdict is not None:
        course_of(facts, verdict)
    named = verdict.suspects[0].rank if verdict is not None and verdict.suspects else None
    return {
        "rows": len(rows),
        "rule_right": int(named == storm.guilty),
        "rule_cpu_s": round(cpu_s, 2),
        "course_cpu_s": round(time.process_time() - began_s - cpu_s, 2),
    }


def in_postgres(storm: Storm, cpu_s: Callable[[], float] = time.process_time) -> dict[str, float]:
    """Arrival, then the verdict as the writer asks for it after a commit, and once more. cpu_s:
    CPU seconds so far, of all that is to be counted."""
    run_id = runs.ensure_run("storm")
    runs.open_attempt(run_id, 0, 0)
    began_s = time.monotonic()
    for node, segments in storm.nodes():
        store.write_lines(run_id, 0, node, segments, batch_id=node)
    arrived_s = time.monotonic()
    before_kb, before_cpu_s = _peak_kb(), cpu_s()
    (first,) = services.triage(run_id, 0, NOW_NS)
    judged_s, judged_cpu_s = time.monotonic(), cpu_s()
    services.triage(run_id, 0, NOW_NS + _S)
    again_s = time.monotonic()
    return {
        "arrival_s": round(arrived_s - began_s, 1),
        "verdict_right": int(first.rank == storm.guilty),
        "verdict_s": round(judged_s - arrived_s, 2),
        "verdict_cpu_s": round(judged_cpu_s - before_cpu_s, 2),
        "again_s": round(again_s - judged_s, 2),
        "again_cpu_s": round(cpu_s() - judged_cpu_s, 2),
        "verdict_mb": round((_peak_kb() - before_kb) / 1000),
    }


def _peak_kb() -> int:
    """The most memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
