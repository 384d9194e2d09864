"""What the person at the terminal sees, and what goes to the log files."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

_IMPORTANT = re.compile(rb"\b(ERROR|CRITICAL|PANIC|FATAL|Traceback)\b")
_MAX_LOG_BYTES = 16 * 1024 * 1024
_READ_BYTES = 64 * 1024
_MAX_LINE_BYTES = 1024 * 1024
_TAIL_LINES = 15
_ECHO_PER_MINUTE = 10


class Console:
    """The terminal, with known secrets blanked everywhere."""

    def __init__(self, log_dir: Path) -> None:
        self.log_dir = log_dir
        self._secrets: list[bytes] = []

    def hide(self, secret: str) -> None:
        """Never show `secret`, nor write it to a log."""
        if secret:
            self._secrets.append(secret.encode())

    def clean(self, line: bytes) -> bytes:
        """`line` with every known secret blanked."""
        for secret in self._secrets:
            line = line.replace(secret, b"***")
        return line

    def say(self, text: str) -> None:
        """One line for the person, at once; a terminal that is gone must not stop the work."""
        try:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
        except OSError:
            pass


class LogPump:
    """A pipe from one child to LOG_DIR/NAME.log; important lines are shown as well.

    seen: gets each complete line. The newest lines stay in memory for failure messages. A full
    log is moved to NAME.log.1.
    """

    def __init__(self, console: Console, name: str, seen: Callable[[bytes], None]) -> None:
        self.echo = False
        self._console = console
        self._name = name
        self._seen = seen
        self._path = console.log_dir / f"{name}.log"
        self._rest = b""
        self._tail: deque[bytes] = deque(maxlen=_TAIL_LINES)
        self._echoes: deque[float] = deque(maxlen=_ECHO_PER_MINUTE)
        self._read_end = -1

    def open(self) -> int:
        """Start reading; returns the end that the child writes to. Close it after the fork."""
        self._read_end, write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        asyncio.get_running_loop().add_reader(self._read_end, self._read)
        self._out = self._path.open("ab", buffering=0)
        return write_end

    def close(self) -> None:
        """Take what is left in the pipe and stop reading."""
        while self._read():
            pass
        self._stop()
        if self._rest:
            self._write(self._rest + b"\n")
            self._rest = b""
        self._out.close()

    def tail(self) -> str:
        """The newest lines."""
        return b"".join(self._tail).decode(errors="replace").rstrip()

    def _read(self) -> bool:
        """One portion; False at the end or when there is nothing now."""
        if self._read_end < 0:
            return False
        try:
            data = os.read(self._read_end, _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._stop()
            return False
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._write(line + b"\n")
        if len(self._rest) > _MAX_LINE_BYTES:
            self._write(self._rest + b"\n")
            self._rest = b""
        return True

    def _stop(self) -> None:
        if self._read_end >= 0:
            asyncio.get_running_loop().remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = -1

    def _write(self, line: bytes) -> None:
        line = self._console.clean(line)
        if self._out.tell() > _MAX_LOG_BYTES:
            self._out.close()
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
            self._out = self._path.open("ab", buffering=0)
        self._out.write(line)
        self._tail.append(line)
        self._seen(line)
        if self.echo and _IMPORTANT.search(line) and self._may_echo():
            self._console.say(f"{self._name}: {line.decode(errors='replace').rstrip()}")

    def _may_echo(self) -> bool:
        """At most ten lines a minute of one child; the log has them all."""
        now = time.monotonic()
        if len(self._echoes) == _ECHO_PER_MINUTE and now - self._echoes[0] < 60:
            return False
        self._echoes.append(now)
        return True
