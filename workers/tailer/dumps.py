"""Dumps of PyTorch's flight recorder: one file a rank, written when a collective hangs.

They are sent as they are; nothing here unpickles one.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from apps.core.errors import AppError
from apps.logs.domain.triage.flight_dump import MAX_DUMP_BYTES
from workers.tailer import templates
from workers.tailer.config import AgentConfig
from workers.tailer.followed import Place
from workers.tailer.frames import Content
from workers.tailer.launches import LONELY_S, LaunchBook
from workers.tailer.outbox import Mode, Outbox
from workers.tailer.templates import Template

log = logging.getLogger(__name__)
ENDPOINT = "flight-recorder"
CLOCKS_NS = 5_000_000_000
"""A file server's clock may be so much behind that of the node."""
OLD_NS = 3_600_000_000_000
"""Where no start of the run is known, a dump that was older than this when it was found is not of
the job that runs."""

_Stamp = tuple[int, int, int]
"""Inode, size and time of the last change."""


def template_of(text: str) -> Template:
    """The files that a prefix as in TORCH_NCCL_DEBUG_INFO_TEMP_FILE stands for, or a template with
    {rank}. Raises AppError."""
    found = templates.parse(text if "{" in text else f"{text}{{rank}}")
    if "rank" not in found.names:
        hint = "write {rank} where PyTorch puts the number of the rank"
        raise AppError("does not say whose dump a file is", where=text, hint=hint)
    return found


@dataclass(slots=True)
class _Dump:
    """A file. seen, since_s: its last known stamp, and when that was first seen. done: the stamp
    that needs nothing any more: it is sent, or `problem` says why not. sent: digest of what was
    sent last. born_s, born_ns: when it was found."""

    path: Path
    run: str
    rank: int
    sent: str
    seen: _Stamp | None = None
    done: _Stamp | None = None
    born_s: float = field(default_factory=time.monotonic)
    born_ns: int = field(default_factory=time.time_ns)
    since_s: float = 0.0
    problem: str = ""


class Dumps:
    """Finds dumps and sends each once, when it is whole; a rank's newer one is another.

    waiting: as in Collector.
    """

    def __init__(
        self, config: AgentConfig, out: Outbox, book: LaunchBook, places: Mapping[str, Place]
    ) -> None:
        self.waiting = False
        self._config, self._out, self._book, self._places = config, out, book, places
        self._dumps: dict[Path, _Dump] = {}
        self._walk_s = 0.0

    def look(self) -> None:
        """Take up files that are new; takes a tenth of the time at most."""
        began_s = time.monotonic()
        if began_s < self._walk_s:
            return
        for template in self._config.flight_recorder:
            for match in templates.find(template):
                if match.path not in self._dumps:
                    run = match.said.get("run") or self._config.run
                    known = self._places.get(str(match.path), Place())
                    rank = int(match.said["rank"])
                    self._dumps[match.path] = _Dump(match.path, run, rank, known.head)
        self._walk_s = began_s + 10 * (time.monotonic() - began_s)

    def rounds(self, mode: Mode) -> list[Callable[[], int]]:
        """One piece of work per file, which gives the number of batches it made."""
        self.waiting = False
        return [partial(self._collect, dump, mode) for dump in self._dumps.values()]

    def problems(self) -> Iterator[str]:
        """Why files are not sent."""
        return (f"{dump.path} {dump.problem}" for dump in self._dumps.values() if dump.problem)

    def _collect(self, dump: _Dump, mode: Mode) -> int:
        stamp = _stamp(dump.path)
        if stamp is None or stamp == dump.done or not self._settled(dump, stamp, mode):
            return 0
        at_ns = stamp[2] + CLOCKS_NS + self._config.time_shift_ns
        launch = self._book.newest(before_ns=at_ns, run=dump.run)
        if launch is None and self._is_earlier(dump, at_ns):
            log.info("%s is of an earlier job and not sent", dump.path)
            dump.done = stamp
            return 0
        if not self._out.room() or (launch is None and self._may_start(dump, mode)):
            self.waiting = True
            return 0
        return self._take(dump, stamp, launch.attempt if launch else None)

    def _settled(self, dump: _Dump, stamp: _Stamp, mode: Mode) -> bool:
        """Whether a file has stayed as it is for a while."""
        now_s = time.monotonic()
        if stamp != dump.seen:
            dump.seen, dump.since_s = stamp, now_s
        return mode.now or now_s - dump.since_s >= self._config.limits.settle_s

    def _is_earlier(self, dump: _Dump, at_ns: int) -> bool:
        """Whether a file was written before any start of its run that is known."""
        if self._book.newest(run=dump.run) is not None:
            return True
        now_ns = dump.born_ns + self._config.time_shift_ns
        return not self._config.once and now_ns - at_ns > OLD_NS and not self._expects_start()

    def _may_start(self, dump: _Dump, mode: Mode) -> bool:
        """Whether other files may still announce the start that wrote it."""
        young = time.monotonic() - dump.born_s < LONELY_S
        return self._expects_start() and young and not mode.final

    def _expects_start(self) -> bool:
        config = self._config
        return bool(config.torchrun or config.logs or config.wandb)

    def _take(self, dump: _Dump, stamp: _Stamp, attempt: int | None) -> int:
        """Sends a file as it is now. attempt: None for the newest that the server knows."""
        data, problem = _read(dump.path, stamp)
        if data is None and not problem:
            return 0
        if problem:
            log.warning("%s %s", dump.path, problem)
        made = 0 if data is None else self._keep(dump, stamp, data, attempt)
        dump.done, dump.problem = stamp, problem  # last: what cannot be kept now is taken again
        return made

    def _keep(self, dump: _Dump, stamp: _Stamp, data: bytes, attempt: int | None) -> int:
        """Puts a dump into the spool, unless it is what was sent last; how many batches."""
        digest = hashlib.sha256(data).hexdigest()
        if digest == dump.sent:
            return 0
        said = {"rank": dump.rank} | ({} if attempt is None else {"attempt": attempt})
        content = Content(ENDPOINT, {}, [data], 0, urlencode(said))
        place = Place(inode=stamp[0], offset=len(data), head=digest)
        self._out.keep_at(content, {str(dump.path): place}, dump.run)
        dump.sent = digest
        return 1


def _stamp(path: Path) -> _Stamp | None:
    """None for a file that is gone or empty."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if found.st_size else None


def _read(path: Path, stamp: _Stamp) -> tuple[bytes | None, str]:
    """(the whole dump, "") or (None, why it is none); (None, "") while it is written. What PyTorch
    writes ends with a dot as a pickle, with a brace as JSON."""
    if stamp[1] > MAX_DUMP_BYTES:
        return None, f"is larger than {MAX_DUMP_BYTES >> 20} MiB and not sent"
    data = path.read_bytes()
    if _stamp(path) != stamp or len(data) != stamp[1]:
        return None, ""
    ends_well = data.endswith(b".") if data[:1] == b"\x80" else data.rstrip().endswith(b"}")
    return (data, "") if ends_well else (None, "is cut in the middle and not sent")
