"""Start the supervisor as a person does, look at processes as `ps` does, wait with a deadline."""

from __future__ import annotations

import os
import queue
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT
from typing import TypeVar

from workers.embedded import server

ROOT = Path(__file__).resolve().parents[2]
Value = TypeVar("Value")


def eventually(look: Callable[[], Value], within_s: float, what: str) -> Value:
    """The first true value that `look` returns; fails with `what` after `within_s`."""
    deadline = time.monotonic() + within_s
    while not (value := look()):
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(0.05)
    return value


def living(home: Path) -> dict[int, str]:
    """Processes that belong to `home`: pid -> command line.

    They know it from their environment or command line, or work in it (Valkey writes its title
    over both).
    """
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            words = _read(entry / "cmdline")
            if words and _belongs(entry, words, str(home)):
                found[int(entry.name)] = words.replace(b"\0", b" ").decode()
    return found


def _belongs(entry: Path, words: bytes, home: str) -> bool:
    if home.encode() in words or home.encode() in _read(entry / "environ"):
        return True
    try:
        return str((entry / "cwd").readlink()).startswith(home)
    except OSError:
        return False


def child(home: Path, text: str) -> int:
    """The pid of the one process of `home` whose command line holds `text`; 0 if none."""
    found = [pid for pid, words in living(home).items() if text in words]
    return min(found, default=0)


def free_port() -> int:
    """A port that is free together with the next one, and that the system gives to no client: of a
    process that is started anew it is still free."""
    draw = random.SystemRandom()
    while True:
        port = draw.randrange(10_000, 32_000)
        if server.is_free(port) and server.is_free(port + 1):
            return port


class Foreground:
    """A supervisor in the foreground of nothing; it dies with this process."""

    def __init__(self, home: Path, module: str = "tests.system.stub_supervisor", **env: str):
        self.home = home
        env.setdefault("PORT", str(free_port()))
        self.port = int(env["PORT"]) if env["PORT"].isdigit() else 0
        self.lines: list[str] = []
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT,
            env=_environment(home, env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._reader = threading.Thread(target=self._read_lines)
        self._reader.start()

    def line(self, pattern: str, within_s: float = 60) -> str:
        """The next line of output that matches `pattern`."""
        deadline = time.monotonic() + within_s
        while True:
            try:
                line = self._queue.get(timeout=max(deadline - time.monotonic(), 0.001))
            except queue.Empty:
                line = None
            assert line is not None, f"no line like {pattern!r} in:\n" + "\n".join(self.lines)
            if re.search(pattern, line):
                return line

    def signal(self, number: int) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def wait(self, within_s: float = 60) -> int:
        """Wait for the end; the exit status."""
        status = self._process.wait(within_s)
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
        return status

    def end(self, number: int = SIGINT) -> int:
        """Send a signal and wait; the exit status."""
        self.signal(number)
        return self.wait()

    def close(self) -> None:
        """End it if it still runs, and let go of its output."""
        if self._process.poll() is None:
            self.signal(SIGINT)
        self.wait()

    def _read_lines(self) -> None:
        for line in self._process.stdout or ():
            self.lines.append(line.rstrip("\n"))
            self._queue.put(self.lines[-1])
        self._queue.put(None)


def _environment(home: Path, more: dict[str, str]) -> dict[str, str]:
    given = {"LASTGOOD_HOME": str(home), "LASTGOOD_DIE_WITH_PARENT": "1"}
    return {**os.environ, **given, **more}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
