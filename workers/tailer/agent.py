"""The agent: look for files, make batches, send them, keep a status file."""

from __future__ import annotations

import fcntl
import logging
import threading
import time
from typing import IO, Any

from apps.core.errors import AppError
from workers.tailer import status
from workers.tailer.collector import Collector
from workers.tailer.config import AgentConfig
from workers.tailer.launches import LaunchBook
from workers.tailer.openfiles import FILES
from workers.tailer.outbox import Mode
from workers.tailer.sender import Sender
from workers.tailer.server import Server
from workers.tailer.spool import Spool

log = logging.getLogger(__name__)
STOP_REQUEST_S = 2.0


class Agent:
    """One run on one node, or the W&B runs below a folder.

    run() blocks until `stop` is set, or with `once` until all is sent.
    """

    def __init__(self, config: AgentConfig) -> None:
        config.state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._config = config
        self._lock = _lock(config)
        limits = config.limits
        self._spool = Spool(config.state_dir)
        self._servers = [Server(config.url, config.token, limits.timeout_s) for _ in range(2)]
        self._book = LaunchBook(config, self._servers[0])
        self._sender = Sender(self._spool, self._servers[1], limits, patient=not config.once)
        self._collector = Collector(config, self._spool, self._book, self._spool.places())
        self._looked_s = self._told_s = float("-inf")

    def run(self, stop: threading.Event | None = None) -> dict[str, Any]:
        """Follow and send; gives the last status. Raises AppError with `once` if it cannot."""
        stop = stop or threading.Event()
        self._sender.start()
        try:
            if self._config.once:
                self._send_all(stop)
            else:
                self._follow(stop)
        finally:
            self._end()
        return self.status()

    def status(self) -> dict[str, Any]:
        """Counters and lags of this moment; dead_letters: batches refused for good."""
        files, found = list(self._collector.files()), self._collector.found
        batches, size = self._spool.size()
        head = self._spool.head(0)
        sent = self._sender.sent
        return {
            "run": self._config.run,
            "node": self._config.node,
            "updated_ns": time.time_ns(),
            "files": len(files),
            "unreadable_files": [
                *(file.unreadable for file in files if file.unreadable),
                *self._collector.dumps.problems(),
            ],
            "truncations": sum(file.cuts for file in files),
            "stale_handles": sum(file.stale for file in files),
            "open_files": len(FILES),
            "spool_batches": batches,
            "spool_bytes": size,
            "lag_s": round(status.age_s(head.path), 3) if head else 0.0,
            "reading_paused": size >= self._config.limits.spool_bytes,
            "sent_batches": sent.batches,
            "sent_lines": sent.lines,
            "sent_raw_bytes": sent.raw_bytes,
            "sent_body_bytes": sent.body_bytes,
            "retries": sent.retries,
            "last_sent_ns": sent.last_ns,
            "dead_letters": self._spool.dead(),
            "bad_checkpoint_lines": self._collector.bad_events,
            "wandb_problems": sum(
                len(stream.file.problems) for stream in found.wandb.active.values()
            ),
            "source_problems": self._collector.sources.problems(),
            "wandb_files_resting": found.wandb.resting,
            "wandb_files_waiting": found.wandb.waiting,
            "wandb_files_live": found.wandb.live(),
            "error": self._collector.error or self._book.error or sent.error,
        }

    def _follow(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self._look()
            self._collector.collect(Mode())
            self._tell()
            stop.wait(self._config.limits.poll_s)
        log.info("stopping: sending what is complete")
        self._collector.collect(Mode(now=True))
        deadline = time.monotonic() + self._config.limits.stop_s
        while self._spool.size()[0] and time.monotonic() < deadline:
            time.sleep(0.02)

    def _send_all(self, stop: threading.Event) -> None:
        """All files are complete: send them, then end."""
        while not stop.is_set():
            self._look()
            made = self._collector.collect(Mode(now=True, final=True))
            if self._sender.failure is not None:
                raise self._sender.failure
            more = self._collector.found.wandb.waiting
            if not made and not more and not self._collector.waiting and not self._spool.size()[0]:
                if self._collector.error:
                    raise AppError(self._collector.error, where=str(self._config.state_dir))
                return
            self._tell()
            stop.wait(0.02)

    def _look(self) -> None:
        if time.monotonic() - self._looked_s >= self._config.limits.discover_s:
            self._looked_s = time.monotonic()
            self._collector.found.look()
            self._collector.sources.look()
            self._collector.dumps.look()

    def _tell(self) -> None:
        if time.monotonic() - self._told_s >= 1.0:
            self._told_s = time.monotonic()
            status.write(self._config.state_dir / "status.json", self.status())

    def _end(self) -> None:
        idle = self._sender.stop(STOP_REQUEST_S)
        status.write(self._config.state_dir / "status.json", self.status())
        for file in self._collector.files():
            file.close()
        for server in self._servers if idle else self._servers[:1]:
            server.close()
        self._lock.close()


def _lock(config: AgentConfig) -> IO[str]:
    """Own the state folder: two agents there would send everything twice."""
    file = (config.state_dir / "lock").open("w", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise AppError(
            "another agent uses this state folder",
            where=str(config.state_dir),
            hint="give each agent its own --state folder",
        ) from None
    return file
