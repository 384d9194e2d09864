"""What Postgres and Valkey have in common: a folder, a port, a password, a life."""

from __future__ import annotations

import json
import os
import random
import secrets
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from apps.core.errors import AppError

HOST = "127.0.0.1"
_PORTS = range(10_000, 32_768)
_POLL_S = 0.03
_TRIES = 3
_TAIL_LINES = 12


class Server(Protocol):
    """One embedded server as the supervisor and the tests see it."""

    name: str
    stop_signal: int
    grace_s: float

    @property
    def url(self) -> str:
        """Where clients connect, with user and password."""

    def prepare(self) -> None:
        """Make folder, settings and password; safe to call before each start."""

    def command(self) -> list[str]:
        """The whole argv; run it from the main thread."""

    def probe(self) -> str | None:
        """None when ready, else why not yet."""


class Running:
    """A server process owned by this process, for tests; the supervisor has its own way.

    It dies with this process. Call from the main thread.
    """

    def __init__(self, server: Server, log: Path) -> None:
        self._server = server
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The server's process id; AppError if it was not started."""
        if self._process is None:
            raise AppError(f"{self._server.name} was not started")
        return self._process.pid

    def start(self, say: Callable[[str], None] = lambda _: None) -> None:
        """Start and wait until the server is ready, however long it recovers.

        say: gets each reason for waiting once. Raises AppError with the end of the log if the
        server ends instead; a port lost to another program is replaced up to three times.
        """
        for tries_left in reversed(range(_TRIES)):
            self._server.prepare()
            self._spawn()
            if self._wait_ready(say):
                return
            tail = log_tail(self._log)
            if "in use" not in tail or not tries_left:
                raise AppError(f"{self._server.name} did not start:\n{tail}", where=str(self._log))

    def stop(self) -> None:
        """Stop cleanly; kill only after the server's grace."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(self._server.stop_signal)
        try:
            self._process.wait(self._server.grace_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """SIGKILL the server, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _spawn(self) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as out:
            self._process = subprocess.Popen(  # noqa: S603 - our own argv
                self._server.command(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _wait_ready(self, say: Callable[[str], None]) -> bool:
        """True when ready, False when the process ended before."""
        said = None
        while (reason := self._server.probe()) is not None:
            if self._process is None or self._process.poll() is not None:
                return False
            if reason != said:
                say(reason)
                said = reason
            time.sleep(_POLL_S)
        return True


class Embedded(ABC):
    """A server below `home`/name, made at the first start: what Postgres and Valkey share."""

    name: str
    stop_signal: int
    grace_s: float

    def __init__(self, home: Path) -> None:
        self._folder = home.resolve() / self.name
        self._port = 0
        self._running = Running(self, home.resolve() / "log" / f"{self.name}.log")

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients connect, with user and password; known after prepare()."""

    @abstractmethod
    def prepare(self) -> None:
        """Make folder, settings and password; keeps the port of the first call."""

    @abstractmethod
    def command(self) -> list[str]:
        """argv of the server in the foreground; stop_signal reaches it when this process dies."""

    @abstractmethod
    def probe(self) -> str | None:
        """None when ready, else what it does."""

    @property
    def pid(self) -> int:
        """The process id after start()."""
        return self._running.pid

    def start(self, say: Callable[[str], None] = lambda _: None) -> str:
        """Start as a child of this process, wait until ready, return the url. Main thread only."""
        self._port = 0
        self._running.start(say)
        return self.url

    def stop(self) -> None:
        """Stop cleanly; kill only after grace_s."""
        self._running.stop()

    def kill(self) -> None:
        """SIGKILL the process, as a crash would; children of Postgres follow within two seconds."""
        self._running.kill()

    def _password(self) -> str:
        return password(self._folder / "password")


def log_tail(path: Path, lines: int = _TAIL_LINES) -> str:
    """The last `lines` lines of a log file; empty if there is none."""
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""


def password(path: Path) -> str:
    """The password kept in the 0600 file `path`, made at the first call."""
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        made = secrets.token_urlsafe(24)
        write_private(path, made)
        return made


def write_private(path: Path, text: str) -> None:
    """Write `path` whole or not at all, readable by its owner only."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.rename(path)


def port(path: Path) -> int:
    """A free port, the one of last time (kept in `path`) if it still is.

    Below the ephemeral range: a client that retries against a stopped server on an ephemeral
    port can be given that very port as its own and connect to itself.
    """
    try:
        last = int(json.loads(path.read_text(encoding="ascii")))
    except (OSError, ValueError):
        last = 0
    if last and is_free(last):
        return last
    draw = random.SystemRandom()
    while not is_free(found := draw.choice(_PORTS)):
        pass
    write_private(path, str(found))
    return found


def is_free(number: int, host: str = HOST) -> bool:
    """Whether a server could listen on `host`:`number` now."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, number))
        except OSError:
            return False
    return True
