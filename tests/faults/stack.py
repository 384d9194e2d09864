"""A small Lastgood of real processes for fault tests: its own servers (real fsync), web, writer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from workers.embedded import Postgres, Valkey
from workers.embedded.server import free_port

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60.0


def until(true: Callable[[], bool], what: str, deadline_s: float = DEADLINE_S) -> None:
    """Waits until `true`, or fails saying what was waited for."""
    end = time.monotonic() + deadline_s
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline_s} s for {what}")
        time.sleep(0.05)


class Stack:
    """Processes of one Lastgood below `home`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.postgres, self.valkey = Postgres(home), Valkey(home)
        self.port = free_port()
        self.env = {
            **os.environ,
            "LASTGOOD_HOME": str(home),
            "DATABASE_URL": self.postgres.start(),
            "REDIS_URL": self.valkey.start(),
            "PORT": str(self.port),
        }
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.manage("migrate", "--no-input")
        self.token = self.manage("token", "test", "--scope", "read,ingest,operate").strip()

    @property
    def url(self) -> str:
        """Where web listens."""
        return f"http://127.0.0.1:{self.port}"

    def manage(self, *args: str) -> str:
        """Runs manage.py to its end."""
        done = subprocess.run(
            [sys.executable, "manage.py", *args],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def start(self, name: str, argv: list[str]) -> None:
        """Starts a process; its output goes to home/<name>.log."""
        with (self.home / f"{name}.log").open("ab") as out:
            self.running[name] = subprocess.Popen(
                argv, cwd=ROOT, env=self.env, stdout=out, stderr=out, start_new_session=True
            )

    def start_web(self) -> None:
        """granian as in production; returns when it answers."""
        self.start("web", [
            sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1",
            "--port", str(self.port), "--blocking-threads", "4", "config.wsgi:application",
        ])  # fmt: skip
        until(self._web_answers, "web")

    def _web_answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health/live", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def start_writer(self) -> None:
        """The stream consumer."""
        self.start("writer", [sys.executable, "manage.py", "writer", "--name", "w0"])

    def kill(self, name: str) -> None:
        """SIGKILL of the process and all it started."""
        process = self.running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """Ends everything."""
        for name in list(self.running):
            self.kill(name)
        self.valkey.stop()
        self.postgres.stop()
