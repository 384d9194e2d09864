"""Which files belong to which start: torchrun folders, `.wandb` files, consoles."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from apps.logs.domain.headers import Clock, read_headers
from workers.tailer.config import AgentConfig
from workers.tailer.followed import Place
from workers.tailer.logfile import LogFile, Origin
from workers.tailer.wandbfolders import WandbFiles

_ATTEMPT = re.compile(r"attempt_(\d+)")
_CHANNELS = {"stdout.log": "stdout", "stderr.log": "stderr"}
_START_BYTES = 64 << 10


@dataclass(slots=True)
class LogStream:
    """Log files of one start on this node, sent together. waiting_s: when data was first seen."""

    slot: str
    name: str
    files: dict[Path, LogFile] = field(default_factory=dict)
    waiting_s: float | None = None
    turn: int = 0


class Discovery:
    """Finds files as they appear. places: path -> how far it was handed over before."""

    def __init__(self, config: AgentConfig, places: Mapping[str, Place]) -> None:
        self.torchrun: dict[str, LogStream] = {}
        self.wandb = WandbFiles(config.wandb, config.run, places)
        self.consoles: dict[Path, LogFile] = {}
        self._config, self._places = config, places

    def look(self) -> None:
        """Take up what is new. Cheap enough for every second: a few folder listings."""
        for root in self._config.torchrun:
            for path, origin in torchrun_files(root):
                self._add_torchrun(path, origin)
        self.wandb.look()
        for path in self._config.console:
            if path not in self.consoles and path.exists():
                self.consoles[path] = self._log_file(path, Origin(path.name, "console"))

    def _add_torchrun(self, path: Path, origin: Origin) -> None:
        group = f"{self._config.node}/{origin.source.rsplit('/', 2)[0]}"
        slot = f"torchrun:{self._config.node}"
        stream = self.torchrun.setdefault(group, LogStream(slot, group))
        if path not in stream.files:
            stream.files[path] = self._log_file(path, origin)

    def _log_file(self, path: Path, origin: Origin) -> LogFile:
        return LogFile(path, origin, self._places.get(str(path)), self._config.limits)


def torchrun_files(root: Path) -> Iterator[tuple[Path, Origin]]:
    """Log files below `<root>/<id>/attempt_K/<local_rank>/`, in a stable order."""
    for job in _folders(root):
        tries = [path for path in _folders(job) if _ATTEMPT.fullmatch(path.name)]
        for attempt in sorted(tries, key=lambda path: int(path.name.removeprefix("attempt_"))):
            ranks = [path for path in _folders(attempt) if path.name.isdigit()]
            for rank in sorted(ranks, key=lambda path: int(path.name)):
                for name, channel in sorted(_CHANNELS.items()):
                    path = rank / name
                    if path.exists():
                        source = "/".join(path.parts[-4:])
                        yield path, Origin(source, channel, int(rank.name))


def _folders(root: Path) -> list[Path]:
    try:
        with os.scandir(root) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_dir())
    except OSError:
        return []


def started_ns(stream: LogStream, *, once: bool) -> int | None:
    """Time of the first line of a start; None while there is no line.

    The earliest stamp in the first lines of its files. Without any stamp: the oldest change of
    the files, or now if they are still being written.
    """
    stamps, changes = [], []
    for path in stream.files:
        lines, change_ns = _first_lines(path, whole=once)
        if lines:
            changes.append(change_ns)
            stamps.append(first_stamp_ns(lines[:200], near_ns=change_ns))
    found = [stamp for stamp in stamps if stamp is not None]
    if found or not changes:
        return min(found, default=None)
    return min(changes) if once else time.time_ns()


def _first_lines(path: Path, *, whole: bool) -> tuple[list[bytes], int]:
    """The first lines of a file and the time of its last change; no lines if it is gone.

    whole: the file is complete, so a last line without its end counts too.
    """
    try:
        with path.open("rb") as file:
            *lines, last = file.read(_START_BYTES).split(b"\n")
            change_ns = os.fstat(file.fileno()).st_mtime_ns
    except OSError:
        return [], 0
    return ([*lines, last] if whole and last else lines), change_ns


def first_stamp_ns(lines: list[bytes], *, near_ns: int) -> int | None:
    """The first time stamp in the lines of a log, Unix ns."""
    texts = [line.decode("utf-8", "replace") for line in lines]
    times = read_headers(texts, Clock(near_ns), tee=True).time_ns
    return next((stamp for stamp in times if stamp is not None), None)
