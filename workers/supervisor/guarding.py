"""The supervisor's side of guard.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from workers.supervisor.home import Home

_SCRIPT = Path(__file__).with_name("guard.py")


class Guard:
    """A small process that outlives the supervisor and clears what a SIGKILL leaves.

    If the guard itself was killed, the next add() or remove() starts another and tells it all.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._children: dict[int, float] = {}
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the process and tell it the children so far."""
        argv = [sys.executable, "-I", "-S", str(_SCRIPT)]
        self._process = subprocess.Popen(  # noqa: S603 - our own argv
            [*argv, str(self._home.guard_lock), str(self._home.servers_file)],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        for pid, grace_s in self._children.items():
            self._write(f"+ {pid} {grace_s}")

    def add(self, pid: int, grace_s: float) -> None:
        """A child was started; it may take grace_s to leave after the supervisor's death."""
        self._children[pid] = grace_s
        self._tell(f"+ {pid} {grace_s}")

    def remove(self, pid: int) -> None:
        """A child and its group are gone."""
        self._children.pop(pid, None)
        self._tell(f"- {pid}")

    def dismiss(self) -> None:
        """All children are gone: end the guard."""
        if self._process is not None:
            self._tell("bye")
            self._process.communicate()

    def _tell(self, line: str) -> None:
        if self._process is None:
            return
        if self._process.poll() is not None:
            self.start()
        try:
            self._write(line)
        except BrokenPipeError:
            self.start()

    def _write(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
