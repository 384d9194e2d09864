"""From files to batches in the spool."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from apps.core.errors import AppError
from apps.logs.domain.parcel.reader import reader_number
from workers.tailer.checkpoints import event_of
from workers.tailer.config import AgentConfig
from workers.tailer.dumps import Dumps
from workers.tailer.followed import FollowedFile, Place
from workers.tailer.frames import Content
from workers.tailer.launches import LONELY_S, Launch, LaunchBook, Start
from workers.tailer.logfile import LogFile, Origin, Piece
from workers.tailer.outbox import Mode, Outbox, all_or_nothing
from workers.tailer.pathsources import zone_offset_s
from workers.tailer.sources import Sources
from workers.tailer.spool import Spool
from workers.tailer.streams import Discovery, LogStream, started_ns
from workers.tailer.wandbfolders import REST_S, WandbStream

log = logging.getLogger(__name__)
SILENT_NS = 60_000_000_000
LIVE_AFTER_NS = 120_000_000_000
"""A process that sends its run itself has announced it so long after its start (`wandb.init` gives
up after 90 s): only then is the server asked whether it did."""


class Collector:
    """Makes batches of what is new. waiting: files have data that cannot be sent yet."""

    def __init__(
        self, config: AgentConfig, spool: Spool, book: LaunchBook, places: dict[str, Place]
    ) -> None:
        self.found = Discovery(config, places)
        self.waiting = False
        self.bad_events = 0
        self.error = ""
        self._config, self._book = config, book
        self._out = Outbox(config, spool)
        self.sources = Sources(config, self._out, book, places, self._is_starting)
        self.dumps = Dumps(config, self._out, book, places)
        self._limits = config.limits
        self._events = [
            LogFile(
                path,
                Origin(path.name, "events"),
                places.get(str(path)),
                config.limits,
                patient=True,
            )
            for path in config.checkpoints
        ]

    def collect(self, mode: Mode) -> int:
        """One round over all files; the number of batches made.

        Starts are registered and checkpoints told before the metrics that may speak about them.
        """
        self.waiting, self.error = False, ""
        if mode.now:
            for file in self.files():
                file.hurry()
        found = self.found
        rounds: list[Callable[[], int]] = [
            *(partial(self._logs, stream, mode) for stream in found.logs.values()),
            *(partial(self._greet, stream) for stream in found.wandb.active.values()),
            *(partial(self._checkpoints, events, mode) for events in self._events),
            *self.dumps.rounds(mode),
            *(partial(self._wandb, stream, mode) for stream in found.wandb.active.values()),
            *self.sources.rounds(mode),
            partial(self._consoles, mode),
        ]
        made = sum(self._guarded(one) for one in rounds)
        self.waiting = self.waiting or self.sources.waiting or self.dumps.waiting
        return made

    def _guarded(self, collect: Callable[[], int]) -> int:
        """One source; if it cannot be read or kept now, the others go on."""
        try:
            return collect()
        except OSError as error:
            self.error = f"{type(error).__name__}: {error}"
            log.error("reading stopped for now (%s)", self.error)
            return 0

    def files(self) -> Iterator[FollowedFile]:
        """All files that are followed."""
        for stream in self.found.logs.values():
            yield from (file.file for file in stream.files.values())
        yield from (file.file for file in self.found.consoles.values())
        yield from (stream.file.file for stream in self.found.wandb.active.values())
        yield from (file.file for file in self._events)
        yield from self.sources.files()

    def _is_starting(self) -> bool:
        """Whether there are rank logs of a start that has not said anything yet."""
        return any(not self._book.knows(_start(stream)) for stream in self.found.logs.values())

    def _logs(self, stream: LogStream, mode: Mode) -> int:
        pending = sum(file.file.available() for file in stream.files.values())
        if not self._out.due(stream, pending, mode):
            return 0
        launch = self._book.find(_start(stream), lambda: started_ns(stream, once=self._config.once))
        if launch is None:
            self.waiting = True
            return 0
        files = list(stream.files.values())
        stream.turn = (stream.turn + 1) % len(files)
        files = files[stream.turn :] + files[: stream.turn]
        return self._send_logs(files, launch, stream, mode)

    def _send_logs(
        self, files: Sequence[LogFile], launch: Launch, stream: LogStream, mode: Mode
    ) -> int:
        made = 0
        while self._out.room(logs=True):
            with all_or_nothing([file.file for file in files]):
                taken = list(self._gather(files, mode))
                if not taken:
                    break
                content = self._content(taken, launch, stream)
                self._out.keep(content, [file.file for file in files], run=stream.run)
            made += 1
        return made

    def _content(
        self, taken: Sequence[tuple[LogFile, Piece]], launch: Launch, stream: LogStream
    ) -> Content:
        """What is sent of these pieces: lines, if the server reads them as this agent does, else
        bytes."""
        pieces = [piece for _, piece in taken]
        said = {"node": stream.node or None, "segments": list(map(self._segment, pieces))}
        header = self._out.header(launch.attempt) | said
        lines = sum(piece.data.count(b"\n") + piece.partial for piece in pieces)
        content = Content("logs", header, [piece.data for piece in pieces], lines)
        if self._config.raw or launch.reader != reader_number():
            return content
        try:
            # An agent that sends bytes needs none of it: a quarter of the time it takes to start.
            from workers.tailer import parcels

            read = parcels.read(content, [piece.carry for piece in pieces])
        except Exception as error:  # whatever a reader stumbles over, bytes are not lost for it
            self.error = f"lines go as bytes, reading them failed: {type(error).__name__}: {error}"
            log.exception("lines go as bytes, reading them failed")
            return content
        for (file, _), carry in zip(taken, read.after, strict=True):
            file.file.leave(carry)
        return read.content or content

    def _gather(self, files: Sequence[LogFile], mode: Mode) -> Iterator[tuple[LogFile, Piece]]:
        """Pieces of all files up to the size of a batch, in the given order of files."""
        left = self._limits.batch_bytes
        for file in files:
            while left > 0 and (piece := file.take(max(left, 4096), final=mode.final)):
                left -= len(piece.data)
                yield file, piece

    def _segment(self, piece: Piece) -> dict[str, Any]:
        """The server's description of a piece."""
        origin = piece.origin
        segment = {
            "source": origin.source,
            "local_rank": origin.local_rank,
            "channel": origin.channel,
            "offset": piece.offset,
            "bytes": len(piece.data),
            "generation": piece.generation,
            "seen_ns": self._seen_ns(piece),
        }
        further = {
            "partial": piece.partial or None,
            "rank": origin.rank,
            "zone_offset_s": zone_offset_s(origin.zone, piece.modified_ns / 1e9) or None,
            "tasks_are_ranks": origin.tasks_are_ranks or None,
            "alone": origin.alone or None,
        }
        return segment | {name: value for name, value in further.items() if value is not None}

    def _seen_ns(self, piece: Piece) -> int:
        """When the lines were written, as far as the agent knows: now, or the time of the last
        change of a file that has been silent. Less the time shift it is the event clock of the
        data, so that the shift brings it back to the agent's clock."""
        now_ns = time.time_ns()
        if self._config.once:
            return piece.modified_ns
        old = abs(now_ns - piece.modified_ns) > SILENT_NS
        return (piece.modified_ns if old else now_ns) - self._config.time_shift_ns

    def _consoles(self, mode: Mode) -> int:
        """The launcher's output belongs to the node's newest start; without one it is a start."""
        files = list(self.found.consoles.values())
        if not any(file.file.available() for file in files):
            return 0
        slot = f"torchrun:{self._config.node}"
        quiet = mode.final or all(file.file.quiet_s() > LONELY_S for file in files)
        name = f"{self._config.node}/{files[0].origin.source}"
        alone = LogStream(self._config.run, self._config.node, slot, name, self.found.consoles)
        launch = self._book.newest(slot)
        if launch is None and (quiet or not self._config.torchrun):
            launch = self._book.find(
                _start(alone), lambda: started_ns(alone, once=self._config.once)
            )
        if launch is None:
            self.waiting = True
            return 0
        return self._send_logs(files, launch, alone, mode)

    def _wandb(self, stream: WandbStream, mode: Mode) -> int:
        file = stream.file
        if not self._out.due(stream, file.available(), mode):
            return 0
        launch = self._launch_of_wandb(stream)
        if launch is None:
            self.waiting |= not (file.refused or file.elsewhere)
            return 0
        made = 0
        while self._out.room():
            with all_or_nothing([file.file]):
                piece = file.take(self._limits.batch_bytes, final=mode.final)
                if piece is None:
                    break
                header = self._out.header(launch.attempt) | {
                    "file": file.file.path.name,
                    "first_record": piece.first,
                    "lengths": [len(record) for record in piece.records],
                    "damaged": piece.damaged,
                }
                content = Content("wandb", header, piece.records, 0)
                self._out.keep(content, [file.file], run=stream.run)
            made += 1
        return made

    def _launch_of_wandb(self, stream: WandbStream) -> Launch | None:
        """The start of a `.wandb` file; None while the file does not say when it was, or if the
        server says that it receives the run from its process."""
        start = Start(stream.run, stream.slot, stream.name, unless_live=stream.elsewhere)
        launch = self._book.find(start, lambda: self._wandb_start(stream))
        if launch is not None and launch.attempt is None:
            stream.file.elsewhere = True
            launch = None
        if stream.file.refused and self._config.once:
            raise AppError(stream.file.refused, where=str(stream.file.file.path))
        return launch

    def _greet(self, stream: WandbStream) -> int:
        """Register the start of a `.wandb` file before anything speaks about it."""
        self._launch_of_wandb(stream)
        return 0

    def _wandb_start(self, stream: WandbStream) -> int | None:
        said, now_ns = stream.file.started_ns(), time.time_ns()
        if said is None and not stream.file.refused:
            changed_ns = stream.file.file.path.stat().st_mtime_ns
            ended = self._config.once or now_ns - changed_ns > REST_S * 1e9
            return changed_ns if ended else None
        young = said is not None and now_ns - said < LIVE_AFTER_NS
        return None if stream.elsewhere and young and not self._config.once else said

    def _checkpoints(self, events: LogFile, mode: Mode) -> int:
        made = 0
        while self._out.room() and events.file.available():
            quiet = mode.final or events.file.quiet_s() > self._limits.idle_s
            if self._expects_launch() and self._book.newest() is None and not quiet:
                self.waiting = True
                break
            with all_or_nothing([events.file]):
                piece = events.take(1, final=mode.final)
                if piece is None:
                    break
                made += self._send_event(piece, events)
        return made

    def _expects_launch(self) -> bool:
        return bool(self._config.torchrun or self._config.logs or self._config.wandb)

    def _send_event(self, piece: Piece, events: LogFile) -> int:
        """One batch for one line; the start it belongs to is the newest one at its time."""
        event = event_of(piece.data, events.file.path.parent, self._limits.metadata_bytes)
        if event is None:
            self.bad_events += bool(piece.data.strip())
            log.warning("%s: not a checkpoint event: %r", events.file.path, piece.data[:200])
            return 0
        time_ns = round(event["ts"] * 1e9) + self._config.time_shift_ns
        launch = self._book.at(time_ns)
        content = self._out.checkpoint(event, launch.attempt if launch else None)
        self._out.keep(content, [events.file])
        return 1


def _start(stream: LogStream) -> Start:
    return Start(stream.run, stream.slot, stream.name, node=stream.node)
