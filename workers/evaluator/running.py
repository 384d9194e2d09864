"""One command from start to end: time, lease and the words it prints."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.checkpoints.domain.evaluating import How, Lease
from apps.checkpoints.evaluating import Ended
from apps.checkpoints.jobs_store import MAX_LOG_BYTES
from apps.core.words import duration

Renew = Callable[[bytes, int], How | None]
"""Given what was printed so far: None to go on, else how to end. May raise: then the lease was not
renewed."""
HOLDER = Path(__file__).with_name("holder.py")
HEAD_BYTES = 64 * 1024
TAIL_BYTES = MAX_LOG_BYTES - HEAD_BYTES - 100
GRACE_S = 10.0
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Work:
    """A command to run. folder: where it runs; its log is written there. env: all it gets."""

    argv: Sequence[str]
    folder: Path
    env: Mapping[str, str]
    timeout_s: float
    lease: Lease
    grace_s: float = GRACE_S


class Running:
    """A command that runs."""

    def __init__(self, work: Work, renew: Renew, stop: threading.Event) -> None:
        self._work, self._renew, self._stop = work, renew, stop
        self._log = work.folder / "log"
        self._began = self._renewed = self._tried = time.monotonic()
        self._said: dict[str, int | str] = {}
        self._rest = b""
        self._holder = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", str(HOLDER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={"PATH": os.environ.get("PATH", os.defpath)},
        )

    def end(self) -> Ended:
        """Waits for the end, whatever it is."""
        try:
            self._send_spec()
            why: How | None = None
            while why is None and not self._over():
                self._listen(_LOOK_S)
                why = self._reason_to_end()
            self._let_go()
            return self._ended(why)
        finally:
            self._let_go()
            assert self._holder.stdout is not None  # noqa: S101 - a pipe was asked for
            self._holder.stdout.close()

    def _send_spec(self) -> None:
        spec = {
            "argv": list(self._work.argv),
            "cwd": str(self._work.folder),
            "env": dict(self._work.env),
            "log": str(self._log),
            "head_bytes": HEAD_BYTES,
            "tail_bytes": TAIL_BYTES,
            "grace_s": self._work.grace_s,
        }
        assert self._holder.stdin is not None  # noqa: S101 - a pipe was asked for
        self._holder.stdin.write(json.dumps(spec).encode() + b"\n")
        self._holder.stdin.flush()

    def _over(self) -> bool:
        return bool({"exit", "failed", "gone"} & set(self._said))

    def _listen(self, wait_s: float) -> None:
        """Reads what the holder says, for a moment."""
        assert self._holder.stdout is not None  # noqa: S101 - a pipe was asked for
        with selectors.DefaultSelector() as selector:
            selector.register(self._holder.stdout, selectors.EVENT_READ)
            if not selector.select(wait_s):
                return
        chunk = os.read(self._holder.stdout.fileno(), 65_536)
        if not chunk:
            self._said.setdefault("gone", 1)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._said.update(json.loads(line))

    def _reason_to_end(self) -> How | None:
        now = time.monotonic()
        if self._over():
            return None
        if self._stop.is_set():
            return How.STOPPED
        if now - self._began > self._work.timeout_s:
            return How.TIMEOUT
        if now - self._tried >= self._work.lease.renew_s:
            return self._ask_for_more(now)
        return None

    def _ask_for_more(self, now: float) -> How | None:
        self._tried = now
        try:
            why = self._renew(*self.printed())
        except Exception:  # noqa: BLE001 - whatever it is, the lease was not renewed
            return How.LOST if now - self._renewed > self._work.lease.silent_s else None
        self._renewed = now
        return why

    def _let_go(self) -> None:
        """Closes the holder's input and waits for it; a holder that hangs is killed, and the group
        of its command with it."""
        if self._holder.returncode is not None:
            return
        assert self._holder.stdin is not None  # noqa: S101 - a pipe was asked for
        if not self._holder.stdin.closed:
            try:
                self._holder.stdin.close()
            except BrokenPipeError:
                pass
        until = time.monotonic() + self._work.grace_s + 15.0
        while not self._over() and time.monotonic() < until:
            self._listen(_LOOK_S)
        if "exit" not in self._said:
            self._holder.kill()
            self._kill_group()
        self._holder.wait()

    def _kill_group(self) -> None:
        pid = self._said.get("pid")
        try:
            if isinstance(pid, int):
                os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass

    def printed(self) -> tuple[bytes, int]:
        """What was printed, as far as it is kept, and how many bytes it was."""
        try:
            kept = self._log.read_bytes()[:MAX_LOG_BYTES]
        except FileNotFoundError:
            kept = b""
        total = self._said.get("bytes", len(kept))
        return kept, int(total)

    def _ended(self, why: How | None) -> Ended:
        log, total = self.printed()
        code = self._said.get("exit")
        exit_code = code if isinstance(code, int) else None
        if why is None:
            why = How.DONE if exit_code == 0 else How.EXIT if exit_code is not None else None
        if why is None:
            failed = self._said.get("failed")
            if failed:
                return Ended(How.UNSTARTED, f"it could not be started: {failed}")
            why = How.EXIT
        return Ended(why, _words(why, exit_code, self._work), exit_code, log, total)


def _words(why: How, code: int | None, work: Work) -> str:
    if why is How.EXIT and code is None:
        return "the process that held the command was killed; was the memory full?"
    if why is How.EXIT and code is not None and code < 0:
        return f"the command was killed by signal {-code} ({_signal_name(-code)})"
    return {
        How.DONE: "",
        How.EXIT: f"the command ended with exit code {code}",
        How.TIMEOUT: f"it was killed after {duration(work.timeout_s)}, the time its suite gives it",
        How.LOST: "it was killed: its lease could not be renewed",
        How.STOPPED: "its evaluator was shut down",
        How.CANCELLED: "somebody took it back",
    }[why]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
