"""Which files belong to which start: torchrun folders, `.wandb` files, consoles."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from apps.logs.domain.reading.envelopes import Envelopes
from apps.logs.domain.reading.headers import Clock, read_headers
from workers.tailer.config import AgentConfig
from workers.tailer.followed import Place
from workers.tailer.logfile import LogFile, Origin
from workers.tailer.pathsources import FoundLog, logs_of, zone_offset_s
from workers.tailer.wandbfolders import WandbFiles

_ATTEMPT = re.compile(r"attempt_(\d+)")
_CHANNELS = {"stdout.log": "stdout", "stderr.log": "stderr", "error.json": "stderr"}
"""Files of one process below torchrun's log folder -> channel. The last is what torchelastic writes
when the process raises."""
_START_BYTES = 64 << 10
_START_FILES = 64


@dataclass(slots=True)
class LogStream:
    """Log files of one start on one node, sent together. waiting_s: when data was first seen."""

    run: str
    node: str
    slot: str
    name: str
    files: dict[Path, LogFile] = field(default_factory=dict)
    waiting_s: float | None = None
    turn: int = 0


WALK_SHARE = 20
"""Looking for new files takes a twentieth of the time at most."""


class Discovery:
    """Finds files as they appear. places: path -> how far it was handed over before.

    logs: the streams of rank logs, each of one start. nameless: files whose path names no run.
    """

    def __init__(self, config: AgentConfig, places: Mapping[str, Place]) -> None:
        self.logs: dict[tuple[str, ...], LogStream] = {}
        self.wandb = WandbFiles(config.wandb, config.run, places)
        self.consoles: dict[Path, LogFile] = {}
        self.nameless: set[Path] = set()
        self._known: set[Path] = set()
        self._walk_s = 0.0
        self._config, self._places = config, places

    def look(self) -> None:
        """Take up what is new: a few folder listings."""
        began_s = time.monotonic()
        if began_s >= self._walk_s:
            for root in self._config.torchrun:
                for path, origin in torchrun_files(root):
                    self._add(torchrun_log(self._config, path, origin))
            for source in self._config.logs:
                for found in logs_of(source, self._config.run, self._config.node):
                    self._add(found)
            self._walk_s = began_s + WALK_SHARE * (time.monotonic() - began_s)
        self.wandb.look()
        for path in self._config.console:
            if path not in self.consoles and path.exists():
                self.consoles[path] = self._log_file(path, Origin(path.name, "console"))

    def _add(self, found: FoundLog) -> None:
        if found.path in self._known:
            return
        if not found.run:
            self.nameless.add(found.path)
            return
        self._known.add(found.path)
        key = (found.run, found.node, found.slot, found.name)
        stream = self.logs.setdefault(key, LogStream(*key))
        stream.files[found.path] = self._log_file(found.path, found.origin)

    def _log_file(self, path: Path, origin: Origin) -> LogFile:
        return LogFile(path, origin, self._places.get(str(path)), self._config.limits)


def torchrun_log(config: AgentConfig, path: Path, origin: Origin) -> FoundLog:
    """Where a file of torchrun belongs: each `<id>/attempt_K` is a start of its own."""
    name = f"{config.node}/{origin.source.rsplit('/', 2)[0]}"
    origin = replace(origin, zone=config.zone)
    return FoundLog(path, config.run, config.node, f"torchrun:{config.node}", name, origin)


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

    The earliest stamp in the first lines of its files, 64 of them at most. Without any stamp: the
    oldest change of the files, or now if they are still being written.
    """
    stamps: list[int | None] = []
    changes: list[int] = []
    for path in stream.files:
        if len(changes) >= _START_FILES:
            break
        lines, change_ns = _first_lines(path, whole=once)
        if lines:
            changes.append(change_ns)
            zone = stream.files[path].origin.zone
            clock = Clock(change_ns, zone_offset_s(zone, change_ns / 1e9))
            stamps.append(first_stamp_ns(lines[:200], clock))
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


def first_stamp_ns(lines: list[bytes], clock: Clock) -> int | None:
    """The first time stamp in the lines of a log, Unix ns; also of lines inside others."""
    texts = [line.decode("utf-8", "replace") for line in lines]
    envelopes = Envelopes({}, clock)
    for text, stamp in zip(texts, read_headers(texts, clock, tee=True).time_ns, strict=True):
        inner = envelopes.open(text) if stamp is None else None
        found = stamp if inner is None else inner.time_ns
        if found is not None:
            return found
    return None
