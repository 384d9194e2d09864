"""The supervisor's files in LASTGOOD_HOME: one lock, one note about what runs."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from apps.core.errors import AppError
from workers.embedded import server

_LEFTOVERS_S = 120.0


class Home:
    """LASTGOOD_HOME while one supervisor owns it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log_dir = path / "log"
        self.servers_file = path / "run" / "servers.json"
        self.guard_lock = path / "run" / "guard.lock"
        self._lock_file = path / "run" / "supervisor.lock"
        self._lock: IO[str] | None = None

    def acquire(self, say: Callable[[str], None]) -> None:
        """Take the lock; wait for the leftovers of a killed supervisor to go.

        Raises AppError that names the process if another supervisor runs here.
        """
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in (self.log_dir, self._lock_file.parent):
            folder.mkdir(exist_ok=True, mode=0o700)
        lock = self._lock_file.open("a+", encoding="ascii")
        if not _locked(lock):
            raise self._refusal(lock)
        self._lock = lock
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._wait_for_leftovers(say)
        self.servers_file.unlink(missing_ok=True)

    def publish(self, servers: dict[str, str | int]) -> None:
        """Tell `manage.py` in other shells where the servers are (0600)."""
        server.write_private(self.servers_file, json.dumps(servers))

    def release(self) -> None:
        """After a clean stop: nothing runs any more."""
        self.servers_file.unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.close()

    def _refusal(self, lock: IO[str]) -> AppError:
        lock.seek(0)
        pid = lock.read().strip() or "unknown"
        try:
            where = json.loads(self.servers_file.read_text(encoding="utf-8"))["web_url"]
        except (OSError, ValueError, KeyError):
            where = "still starting"
        return AppError(
            f"Lastgood already runs here (pid {pid}, {where})",
            where=str(self.path),
            hint=f"stop it with `kill {pid}`, or start a second one with another PORT "
            "and LASTGOOD_HOME",
        )

    def _wait_for_leftovers(self, say: Callable[[str], None]) -> None:
        deadline = time.monotonic() + _LEFTOVERS_S
        with self.guard_lock.open("a", encoding="ascii") as guard:
            if _locked(guard):
                return
            say("waiting for the processes of a killed supervisor to end")
            while not _locked(guard):
                if time.monotonic() > deadline:
                    raise AppError(
                        "processes of a killed supervisor do not end",
                        where=str(self.path),
                        hint="look for them with `ps`, end them, and start again",
                    )
                time.sleep(0.1)


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
