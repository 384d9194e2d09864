"""Metrics in files of their own: TensorBoard, JSON lines, CSV, trainer_state."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

from apps.core.errors import AppError
from workers.tailer.config import AgentConfig
from workers.tailer.csvfile import CsvFile
from workers.tailer.eventdirs import Found, event_files, group
from workers.tailer.eventfile import EventFile
from workers.tailer.followed import FollowedFile, Place
from workers.tailer.frames import Content
from workers.tailer.launches import LONELY_S, Launch, LaunchBook, Start
from workers.tailer.outbox import Mode, Outbox, all_or_nothing
from workers.tailer.rowfile import JsonLines
from workers.tailer.taken import Begin, Taker
from workers.tailer.trainerfile import TrainerState

log = logging.getLogger(__name__)
METRICS_CSV = "metrics.csv"
SOON_NS, EARLY_NS = 5_000_000_000, 60_000_000_000
"""So long after a process began a file its logs may say that it began; the second, if the logs were
seen to be empty by then."""
QUIET_SHARE, LONGEST_PAUSE_S = 0.02, 10.0
"""A file is asked for news after that share of the time it had none: a thousand finished files on a
shared disk cost no more than one that grows."""


@dataclass(slots=True)
class SourceStream:
    """One file. source: what the server calls it. slot, name: of the start it belongs to.
    joins: it is no start of its own where another one is known. life, attempt: generation of the
    file that the attempt is known of, and its number. born_s, seen_s: when the file was found and
    when it last had news. next_s: when to look for more, if nothing was new. early: it began before
    the logs of its start said anything."""

    endpoint: str
    source: str
    slot: str
    name: str
    taker: Taker
    joins: bool = False
    early: bool = False
    born_s: float = field(default_factory=time.monotonic)
    seen_s: float = field(default_factory=time.monotonic)
    waiting_s: float | None = None
    life: int | None = None
    attempt: int | None = None
    next_s: float = 0.0

    def start_name(self, begin: Begin) -> str:
        """The start that writes the file now. A writer that says that it goes on from a step is
        one of its own; so is every life of a file that is rewritten."""
        life = self.taker.file.place.generation
        name = self.name if begin.resume_step is None else self.source
        return f"{name}#{life}" if life else name


class Sources:
    """Finds the files and makes batches of what is new. waiting: as in Collector.

    starting: whether a start is about to be announced by other files.
    """

    def __init__(
        self,
        config: AgentConfig,
        out: Outbox,
        book: LaunchBook,
        places: Mapping[str, Place],
        starting: Callable[[], bool],
    ) -> None:
        self.waiting = False
        self._starting = starting
        self._config, self._out, self._book, self._places = config, out, book, places
        self._streams: dict[Path, SourceStream] = {}
        self._found: dict[Path, Found] = {}
        self._walk_s = 0.0

    def look(self) -> None:
        """Take up files that are new. Walking folders takes a tenth of the time at most."""
        began_s = time.monotonic()
        if began_s >= self._walk_s:
            for given in self._config.tensorboard:
                self._look_for_events(given)
            for given in self._config.csv:
                for path in csv_files(given):
                    self._add_rows(given, path, partial(CsvFile, config=self._config))
            self._walk_s = began_s + 10 * (time.monotonic() - began_s)
        for path in self._config.jsonl:
            self._add_rows(path, path, partial(JsonLines, config=self._config))
        for given in self._config.trainer_state:
            self._add_rows(given, given, partial(TrainerState, config=self._config))

    def rounds(self, mode: Mode) -> list[Callable[[], int]]:
        """One piece of work per file, which gives the number of batches it made."""
        self.waiting = False
        return [partial(self._collect, stream, mode) for stream in self._streams.values()]

    def files(self) -> Iterator[FollowedFile]:
        """All files that are followed."""
        return (stream.taker.file for stream in self._streams.values())

    def problems(self) -> int:
        """Damaged places so far."""
        return sum(len(stream.taker.problems) for stream in self._streams.values())

    def _look_for_events(self, given: Path) -> None:
        root = given if given.is_dir() else given.parent
        paths = {path.relative_to(root).as_posix(): path for path in event_files(given)}
        changed_s = lru_cache(maxsize=None)(_changed_s)
        for found in group(paths):
            path, first = paths[found.path], paths[found.process]
            if path in self._streams:
                continue
            known = self._streams.get(first)
            slot = known.slot if known else self._slot(found, short(path), changed_s)
            taker = EventFile(path, self._places.get(str(path)), found.under)
            stream = SourceStream("tensorboard", short(path), slot, short(first), taker)
            stream.joins = found.evaluates
            self._streams[path], self._found[path] = stream, found

    def _slot(self, found: Found, name: str, changed_s: Callable[[Path], float]) -> str:
        """Of a new process: that of one that had ended when it began, since it took its place, of
        the same folder first; else one of its own folder: it runs beside the others."""
        known = self._book.slot_of(name)
        if known is not None:
            return known
        alike = [p for p, other in self._found.items() if other.evaluates == found.evaluates]
        ended = [p for p in alike if found.took_over(self._found[p], changed_s(p))]
        here = [self._streams[p].slot for p in ended if self._found[p].root == found.root]
        taken = {self._streams[p].slot for p in alike if p not in ended}
        free = [slot for p in ended if (slot := self._streams[p].slot) not in taken]
        return (here or free or [f"tensorboard:{found.root}"[:300]])[-1]

    def _add_rows(
        self, given: Path, path: Path, reader: Callable[[Path, Place | None], Taker]
    ) -> None:
        if path not in self._streams and path.exists():
            taker = reader(path, self._places.get(str(path)))
            slot = f"rows:{given.name}"[:300]
            self._streams[path] = SourceStream("rows", short(path), slot, short(path), taker)

    def _collect(self, stream: SourceStream, mode: Mode) -> int:
        now_s, taker = time.monotonic(), stream.taker
        if now_s < stream.next_s and not mode.now:
            return 0
        pending = taker.pending()
        if pending == 0:
            stream.next_s = now_s + min((now_s - stream.seen_s) * QUIET_SHARE, LONGEST_PAUSE_S)
        if not self._out.due(stream, pending, mode):
            return 0
        made, stream.seen_s = 0, now_s
        while self._out.room():
            with all_or_nothing([taker.file]):
                sent = self._batch(stream, mode)
            made += sent
            if not sent:
                break
        if taker.refused and self._config.once:
            raise AppError(taker.refused, where=str(taker.file.path))
        return made

    def _batch(self, stream: SourceStream, mode: Mode) -> int:
        """One batch of what is new, and the checkpoints that the file speaks of by then."""
        if not self._settle(stream, mode):
            return 0
        taker = stream.taker
        before = taker.file.place
        taken = taker.take(self._config.limits.batch_bytes, final=mode.final)
        if not self._settle(stream, mode):
            # A new life has begun, and the server has not said which attempt that is.
            taker.file.close()
            taker.file.place = before
            return 0
        if taken is not None:
            if stream.endpoint == "tensorboard":
                taker.file.place = replace(taker.file.place, attempt=stream.attempt)
            header = self._out.header(stream.attempt) | {
                "file": stream.source,
                "part": taken.part,
                "first": taken.first,
                "lengths": [len(record) for record in taken.records],
                **taken.header,
            }
            self._out.keep(Content(stream.endpoint, header, taken.records, 0), [taker.file])
        return self._tell(stream) + (taken is not None)

    def _tell(self, stream: SourceStream) -> int:
        """The checkpoints that the file speaks of, each to the start that ran when it was saved."""
        told = list(stream.taker.events)
        for event in told:
            launch = self._launch_beside(stream, round(event["ts"] * 1e9))
            attempt = launch.attempt if launch else stream.attempt
            self._out.keep(self._out.checkpoint(event, attempt), [stream.taker.file])
        stream.taker.events.clear()
        return len(told)

    def _settle(self, stream: SourceStream, mode: Mode) -> bool:
        """Whether the attempt of what the file holds now is known."""
        place = stream.taker.file.place
        if stream.life == place.generation:
            return True
        attempt = self._attempt(stream, mode) if place.attempt is None else place.attempt
        if attempt is None:
            return False
        stream.life, stream.attempt = place.generation, attempt
        return True

    def _attempt(self, stream: SourceStream, mode: Mode) -> int | None:
        """The attempt of a life of a file; None while it cannot be known.

        Beside rank logs or `.wandb` files it is that of the newest start at that time, which may
        be one whose logs are still empty: that is waited for, a minute at most. Alone, or if there
        is none by then, the file is a start of its own.
        """
        begin = stream.taker.begin(final=mode.final)
        if begin is None:
            return None
        joins = self._joins(stream)
        starting = joins and self._starting()
        stream.early |= starting
        late_ns = EARLY_NS if stream.early else SOON_NS
        launch = self._launch_beside(stream, begin.time_ns + late_ns)
        alone = mode.final or time.monotonic() - stream.born_s > LONELY_S
        if joins and (launch is None or starting) and not alone:
            return None
        launch = launch or self._own_launch(stream, begin)
        self.waiting |= launch is None
        return launch.attempt if launch else None

    def _joins(self, stream: SourceStream) -> bool:
        config = self._config
        return bool(config.torchrun or config.logs or config.wandb or stream.joins)

    def _launch_beside(self, stream: SourceStream, time_ns: int) -> Launch | None:
        """The start that others announce and that ran at a time of the data."""
        if not self._joins(stream):
            return None
        return self._book.at(time_ns + self._config.time_shift_ns)

    def _own_launch(self, stream: SourceStream, begin: Begin) -> Launch | None:
        name = stream.start_name(begin)
        start = Start(self._config.run, stream.slot, name, resume_step=begin.resume_step)
        return self._book.find(start, lambda: begin.time_ns)


def _changed_s(path: Path) -> float:
    """When a file was last written to; a file that is gone was so for ever."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def csv_files(given: Path) -> list[Path]:
    """`given` itself, or the `metrics.csv` files up to two folders below it."""
    if given.is_dir():
        found = (given.glob(f"{depth}{METRICS_CSV}") for depth in ("", "*/", "*/*/"))
        return sorted(path for paths in found for path in paths)
    return [given] if given.exists() else []


def short(path: Path) -> str:
    """The last three parts of a path, as the server knows a file."""
    return "/".join(path.parts[-3:])[-480:]
