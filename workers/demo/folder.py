"""What a recorded run folder holds: its starts, their hosts and files, in order of time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from apps.core.errors import AppError
from apps.ingest.wandb.parse import decode, read_records
from apps.logs.domain.reading.headers import Clock
from workers.tailer.streams import first_stamp_ns, torchrun_files
from workers.tailer.wandbfolders import wandb_files

EVENTS = "checkpoint_events.jsonl"
_SUFFIX = re.compile(r"-(\d{1,2})$")
_HOST = re.compile(rb"\bhost=([\w.-]+)")
_EDGE_BYTES = 64 << 10
_SLACK_NS = 5_000_000_000


@dataclass(frozen=True, slots=True)
class HostLogs:
    """One host in one start. torchrun: its log folder. console: what torchrun printed there."""

    node: str
    torchrun: Path | None
    console: Path | None


@dataclass(frozen=True, slots=True)
class RecordedStart:
    """One start of the run. resume_step: the first step it logged, None for the first start."""

    number: int
    started_ns: int
    hosts: tuple[HostLogs, ...]
    wandb: Path | None
    resume_step: int | None


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run folder. events: its checkpoint events, None if there are none. unread: other files."""

    folder: Path
    starts: tuple[RecordedStart, ...]
    events: Path | None
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _LogFolder:
    path: Path
    name: str
    first_ns: int
    last_ns: int


def read_folder(folder: Path) -> RecordedRun:
    """The starts of a recorded run, oldest first.

    A log folder belongs to a new start when it begins after everything before it has ended, or
    when its host has already been seen in the start. `NAME-2` is host NAME in the second start;
    the host of a folder `torchrun` is the one its lines name. A `.wandb` file belongs to the start
    during which its run began. Raises AppError that says what is missing.
    """
    if not folder.is_dir():
        raise AppError("is not a folder", where=str(folder), hint="give the folder of one run")
    groups = _starts(sorted(_log_folders(folder), key=lambda found: found.first_ns))
    metrics = sorted(
        (began, path) for path in wandb_files(folder / "wandb") if (began := _began_ns(path))
    )
    if not groups and not metrics:
        raise AppError(
            "holds neither torchrun logs (<folder>/<id>/attempt_K/<local_rank>/stderr.log) "
            "nor wandb/*/run-*.wandb",
            where=str(folder),
            hint="give the folder of one run, as the recordings unpack",
        )
    starts = _with_metrics(groups, metrics) if groups else _metrics_only(metrics)
    events = folder / EVENTS
    used = {host.console.name for start in starts for host in start.hosts if host.console}
    unread = sorted({path.name for path in folder.glob("console*.log")} - used)
    return RecordedRun(folder, starts, events if events.exists() else None, tuple(unread))


def _log_folders(folder: Path) -> Iterator[_LogFolder]:
    for path in sorted(folder.iterdir()):
        if not path.is_dir():
            continue
        files = [file for file, _ in torchrun_files(path) if file.stat().st_size]
        if files:
            stamps = [stamp for file in files for stamp in _edges_ns(file)]
            times = stamps or [file.stat().st_mtime_ns for file in files]
            yield _LogFolder(path, _node(path, files), min(times), max(times))


def _edges_ns(file: Path) -> list[int]:
    """First and last time stamp of a log file."""
    with file.open("rb") as handle:
        head = handle.read(_EDGE_BYTES)
        handle.seek(max(0, file.stat().st_size - _EDGE_BYTES))
        tail = handle.read()
    clock = Clock(file.stat().st_mtime_ns)
    found = (
        first_stamp_ns(head.split(b"\n"), clock),
        first_stamp_ns(tail.split(b"\n")[::-1], clock),
    )
    return [stamp for stamp in found if stamp is not None]


def _node(path: Path, files: list[Path]) -> str:
    """Name of the host: the folder's, or for `torchrun` the one that the lines name."""
    if not path.name.startswith("torchrun"):
        return path.name
    for file in files:
        with file.open("rb") as handle:
            found = _HOST.search(handle.read(_EDGE_BYTES))
        if found:
            return found[1].decode()
    return "localhost"


def _starts(found: list[_LogFolder]) -> list[list[_LogFolder]]:
    groups: list[list[_LogFolder]] = []
    for logs in found:
        newest = groups[-1] if groups else []
        over = all(logs.first_ns > other.last_ns for other in newest)
        seen = _plain(logs.name, len(groups)) in {_plain(o.name, len(groups)) for o in newest}
        if not newest or over or seen:
            groups.append([logs])
        else:
            newest.append(logs)
    return groups


def _plain(name: str, number: int) -> str:
    """`name` without the suffix that says it belongs to start `number`."""
    suffix = _SUFFIX.search(name)
    if suffix and number > 1 and int(suffix[1]) == number:
        return name[: suffix.start()]
    return name


def _with_metrics(
    groups: list[list[_LogFolder]], metrics: list[tuple[int, Path]]
) -> tuple[RecordedStart, ...]:
    starts = []
    for number, group in enumerate(groups, 1):
        began = min(logs.first_ns for logs in group)
        ends = [min(logs.first_ns for logs in later) for later in groups[number:]]
        mine = [
            path
            for at, path in metrics
            if (number == 1 or at >= began - _SLACK_NS) and (not ends or at < min(ends) - _SLACK_NS)
        ]
        hosts = tuple(_host(logs, number) for logs in sorted(group, key=lambda logs: logs.name))
        wandb = mine[0] if mine else None
        starts.append(RecordedStart(number, began, hosts, wandb, _resume_step(wandb, number)))
    return tuple(starts)


def _host(logs: _LogFolder, number: int) -> HostLogs:
    folder = logs.path.name
    names = (f"console-{folder}.log", f"{folder.replace('torchrun', 'console')}.log")
    consoles = [logs.path.parent / name for name in names if name.startswith("console")]
    console = next((path for path in consoles if path.exists()), None)
    return HostLogs(_plain(logs.name, number), logs.path, console)


def _metrics_only(metrics: list[tuple[int, Path]]) -> tuple[RecordedStart, ...]:
    return tuple(
        RecordedStart(
            number, began, (HostLogs("localhost", None, None),), path, _resume_step(path, number)
        )
        for number, (began, path) in enumerate(metrics, 1)
    )


def _began_ns(path: Path) -> int:
    """When the run of a `.wandb` file began; the file's time if it does not say."""
    with path.open("rb") as file:
        facts = decode(read_records(file.read(256 << 10)).records, now_ns=0).run
    return facts.started_ns if facts and facts.started_ns else path.stat().st_mtime_ns


def _resume_step(path: Path | None, number: int) -> int | None:
    if path is None or number == 1:
        return None
    with path.open("rb") as file:
        rows = decode(read_records(file.read(1 << 20)).records, now_ns=0).rows
    return rows[0].step if rows else None
