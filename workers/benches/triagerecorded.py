"""`bench triage --recorded`: who is to blame in recorded runs whose end is known.

The runs are archives (workers/demo/recordings/README.md): those that ship, or all in --data. Each
truth is what was done to the run when it was recorded. Of a run that was started again the files of
its first start count.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from apps.core.errors import AppError
from apps.logs.domain.triage.classify import taxonomy
from workers.benches.caseanswers import Answer, answered
from workers.benches.casefiles import CaseFile, lines_of
from workers.benches.report import BenchOptions, BenchReport
from workers.demo import recordings
from workers.demo.folder import HostLogs, RecordedStart, read_folder
from workers.tailer.logfile import Origin
from workers.tailer.streams import torchrun_files


@dataclass(frozen=True, slots=True)
class Truth:
    """Whom a person who recorded the run would name, and which classes describe what was done."""

    rank: int | tuple[int, ...]
    host: str
    classes: frozenset[str]

    def holds(self, answer: Answer) -> bool:
        """Whether the answer names the same rank, host and class."""
        place = (answer.rank, answer.host) == (self.rank, self.host)
        return place and answer.fault_class in self.classes


def _truth(rank: int | tuple[int, ...], host: str, *classes: str) -> Truth:
    return Truth(rank, host, frozenset(classes))


TRUTHS = {
    "assert_r2": _truth(2, "gpu-a01", "cuda_device_assert"),
    "exc_r6": _truth(6, "gpu-b02", "dataloader_worker", "py_exception"),
    "exit0_r4": _truth(4, "gpu-b02", "early_exit_zero"),
    "hang_r5": _truth(5, "gpu-b02", "hang_no_error"),
    "kill_r1": _truth(1, "gpu-a01", "exit_sigkill"),
    "ncclsetup": _truth((0, 1), "gpu-a01", "nccl_invalid_usage"),
    "sdc_rollback": _truth(5, "gpu-b02", "silent_data_corruption"),
    "slow": _truth(6, "gpu-b02", "straggler"),
}


def run(options: BenchOptions) -> BenchReport:
    """The answers beside what was done."""
    folder = options.data or recordings.FOLDER
    known = [name for name in recordings.names(folder) if name in TRUTHS]
    if not known:
        raise AppError("no archive of a recorded run whose end is known", where=str(folder))
    faults, answers = taxonomy(), dict[str, Answer]()
    with tempfile.TemporaryDirectory() as scratch:
        for name in known:
            unpacked = recordings.unpack(name, Path(scratch), folder)
            answers[name] = answered(lines_of([*_files(_first(unpacked))]), faults)
    right = {name: TRUTHS[name].holds(one) for name, one in answers.items()}
    rows = tuple(_row(name, one, right=right[name]) for name, one in answers.items())
    figures = {"runs": len(known), "right": sum(right.values())}
    details = {name: one.as_json() for name, one in answers.items()}
    head = ("run", "rank", "host", "fault", "confidence", "was", "right")
    return BenchReport(head, rows, figures, details=details)


def _row(name: str, said: Answer, *, right: bool) -> tuple[str, ...]:
    truth = TRUTHS[name]
    was = f"{truth.rank} on {truth.host}: {' or '.join(sorted(truth.classes))}"
    told = (str(said.rank), said.host or "-", said.fault_class or "-", said.confidence)
    return (name, *told, was, "yes" if right else "no")


def _first(folder: Path) -> RecordedStart:
    return read_folder(folder).starts[0]


def _files(start: RecordedStart) -> Iterator[CaseFile]:
    for host in start.hosts:
        yield from _of_host(host)


def _of_host(host: HostLogs) -> Iterator[CaseFile]:
    for path, origin in torchrun_files(host.torchrun) if host.torchrun else ():
        yield CaseFile(path, host.node, 0, origin)
    if host.console is not None:
        yield CaseFile(host.console, host.node, 0, Origin(host.console.name, "console"))
