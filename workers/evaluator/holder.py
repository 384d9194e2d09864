"""Holds one command: starts it, keeps what it prints, and ends it with everything it started.

A program of its own (`python -I holder.py`), standard library only. The first line of its standard
input says what to start; when that input ends, because whoever asked closed it or died, the command
is killed. So nothing of an evaluation outlives its evaluator, and no second one meets the first.
On standard output come two lines of JSON: {"pid"} and {"exit", "bytes"}.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LOOK_S = 0.1
_WRITE_S = 1.0
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_NICE = 10


@dataclass(frozen=True, slots=True)
class Spec:
    """What to start. log: file for what it prints; its first head_bytes and last tail_bytes are
    kept. grace_s: from SIGTERM to SIGKILL."""

    argv: list[str]
    cwd: str
    env: dict[str, str]
    log: str
    head_bytes: int
    tail_bytes: int
    grace_s: float


class Log:
    """The beginning and the end of an output. The file is replaced whole, so a reader sees either
    what was or what is."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._head, self._tail = bytearray(), bytearray()
        self.total = 0
        self._written = 0
        self._at = 0.0

    def add(self, chunk: bytes) -> None:
        """Takes what was printed."""
        self.total += len(chunk)
        room = self._spec.head_bytes - len(self._head)
        self._head += chunk[: max(0, room)]
        self._tail += chunk[max(0, room) :]
        del self._tail[: max(0, len(self._tail) - self._spec.tail_bytes)]

    def write(self, *, now: bool = False) -> None:
        """Brings the file up to date, at most once a second."""
        if self.total == self._written or (not now and time.monotonic() - self._at < _WRITE_S):
            return
        left_out = self.total - len(self._head) - len(self._tail)
        gap = f"\n[... {left_out:,} bytes are not kept ...]\n".encode() if left_out else b""
        fresh = Path(f"{self._spec.log}.new")
        fresh.write_bytes(bytes(self._head) + gap + bytes(self._tail))
        fresh.replace(self._spec.log)
        self._written, self._at = self.total, time.monotonic()


class Holder:
    """One command and what it starts."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self.log = Log(spec)
        self._selector = selectors.DefaultSelector()
        self._wanted = True
        out, into = os.pipe()
        os.set_blocking(out, False)
        self._out = out
        try:
            self._child = subprocess.Popen(  # noqa: S603 - words of an administrator, no shell
                spec.argv,
                stdin=subprocess.DEVNULL,
                stdout=into,
                stderr=into,
                cwd=spec.cwd,
                env=spec.env,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        finally:
            os.close(into)
        self._selector.register(out, selectors.EVENT_READ)
        self._selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
        self.pid = self._child.pid

    def hold(self) -> int:
        """Until the command ends or is to end; its exit code, negative for a signal."""
        while self._wanted and self._running():
            self._look(_LOOK_S)
        if self._running():
            self._signal(signal.SIGTERM)
            until = time.monotonic() + self._spec.grace_s
            while self._running() and time.monotonic() < until:
                self._look(_LOOK_S)
            self._signal(signal.SIGKILL)
        code = self._child.wait()
        self._signal(signal.SIGKILL)
        _kill_the_rest()
        self._look(0)
        self.log.write(now=True)
        return code

    def _running(self) -> bool:
        """Collects orphans on the way, which the kernel gives to this process."""
        while True:
            try:
                seen = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return False
            if seen is None:
                return True
            if seen.si_pid == self._child.pid:
                return False
            os.waitpid(seen.si_pid, 0)

    def _look(self, wait_s: float) -> None:
        for key, _ in self._selector.select(wait_s):
            if key.fd == self._out:
                self._drain()
            elif not os.read(key.fd, 4_096):
                self._wanted = False
                self._selector.unregister(key.fd)
        self.log.write()

    def _drain(self) -> None:
        """Takes 1 MiB at most, so that a command that never stops printing can be ended."""
        for _ in range(16):
            try:
                chunk = os.read(self._out, 65_536)
            except BlockingIOError:
                return
            if not chunk:
                self._selector.unregister(self._out)
                return
            self.log.add(chunk)

    def stop(self, *_: Any) -> None:
        """Ends the command; what SIGTERM calls."""
        self._wanted = False

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def _prctl(option: int, value: int) -> None:
    """Linux only; elsewhere a group of processes is all that is held."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(_NICE)


def _descendants() -> list[int]:
    """Every process below this one, whatever session it went to."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if entry.isdigit():
            try:
                text = Path(f"/proc/{entry}/stat").read_text(encoding="utf-8", errors="replace")
                parents[int(entry)] = int(text.rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
    below: set[int] = {os.getpid()}
    grew = True
    while grew:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        below |= more
        grew = bool(more)
    return sorted(below - {os.getpid()})


def _kill_the_rest() -> None:
    """Kills until nothing is left, for a few seconds: one in the kernel's hands dies later."""
    for _ in range(50):
        left = _descendants()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_LOOK_S)


def _say(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Reads what to start, starts and holds it; 0 unless it could not be started."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # Unbuffered: what comes behind the line must be left for the selector.
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(sys.stdin.fileno(), 1)
        if not byte:
            return 1
        line += byte
    try:
        holder = Holder(Spec(**json.loads(line)))
    except (OSError, ValueError) as error:
        _say(failed=str(error))
        return 1
    signal.signal(signal.SIGTERM, holder.stop)
    signal.signal(signal.SIGINT, holder.stop)
    _say(pid=holder.pid)
    code = holder.hold()
    try:
        _say(exit=code, bytes=holder.log.total)
    except BrokenPipeError:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
