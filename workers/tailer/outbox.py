"""What every source of the agent needs to hand over batches."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from workers.tailer.config import AgentConfig
from workers.tailer.followed import FollowedFile, Place
from workers.tailer.frames import Content, pack
from workers.tailer.spool import Spool


@dataclass(frozen=True, slots=True)
class Mode:
    """now: do not wait for a batch to fill. final: the files will not grow."""

    now: bool = False
    final: bool = False


class Waits(Protocol):
    """A stream. waiting_s: when data that are not sent yet were first seen."""

    waiting_s: float | None


class Outbox:
    """Decides when a batch is due, and puts it into the spool with the places of its files."""

    def __init__(self, config: AgentConfig, spool: Spool) -> None:
        self._config, self._spool = config, spool
        self._limits = config.limits

    def room(self, *, logs: bool = False) -> bool:
        """Whether the spool may grow; beyond its bound by an eighth for what is no log lines, so
        that a checkpoint is told while logs wait for a full server."""
        most = self._limits.spool_bytes
        return self._spool.size()[1] < (most if logs else most + most // 8)

    def due(self, stream: Waits, pending_bytes: int, mode: Mode) -> bool:
        """Whether what is there makes a batch: enough of it, or old enough."""
        if pending_bytes == 0:
            stream.waiting_s = None
            return False
        now = time.monotonic()
        stream.waiting_s = stream.waiting_s or now
        aged = now - stream.waiting_s >= self._limits.batch_age_s
        if not (mode.now or aged or pending_bytes >= self._limits.batch_bytes):
            return False
        stream.waiting_s = None
        return True

    def header(self, attempt: int | None) -> dict[str, Any]:
        """What every header line begins with."""
        return {
            "v": 1,
            "attempt": attempt,
            "node": self._config.node,
            "time_shift_ns": self._config.time_shift_ns,
        }

    def checkpoint(self, event: Mapping[str, Any], attempt: int | None) -> Content:
        """The body that announces a checkpoint."""
        header = {
            "attempt": attempt,
            "time_shift_ns": self._config.time_shift_ns,
            "events": [event],
        }
        return Content("checkpoints", header, (), 0)

    def keep(self, content: Content, files: Sequence[FollowedFile], run: str = "") -> None:
        """Put a batch into the spool with the places its files have reached. run: if the agent
        serves several."""
        self.keep_at(content, {str(file.path): file.place for file in files}, run)

    def keep_at(self, content: Content, places: Mapping[str, Place], run: str = "") -> None:
        """The same, with the places themselves."""
        self._spool.add(pack(run or self._config.run, content, places))


@contextmanager
def all_or_nothing(files: Sequence[FollowedFile]) -> Iterator[None]:
    """If reading or keeping fails, the files go back to where they were: nothing is lost.

    Closing makes a file that was rotated meanwhile be found again by its inode.
    """
    before = [(file, file.place) for file in files]
    try:
        yield
    except BaseException:
        for file, place in before:
            file.close()
            file.place = place
        raise
