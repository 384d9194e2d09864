"""A small Lastgood of real processes for fault tests: its own servers (real fsync), web, writer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import redis

from tests import servers
from tests.system.processes import ROOT, free_port
from workers.embedded import Postgres, Valkey

DEADLINE_S = 120.0
QUICK = "--skip-checks"
"""For commands that tests run again and again: the checks import all pages, 2 s of CPU."""


def until(true: Callable[[], bool], what: str, deadline_s: float = DEADLINE_S) -> None:
    """Waits until `true`, or fails saying what was waited for."""
    end = time.monotonic() + deadline_s
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline_s} s for {what}")
        time.sleep(0.05)


def _session(process: Path) -> int | None:
    """The session of a process, named by its folder in /proc; None if it is gone."""
    try:
        return os.getsid(int(process.name))
    except ProcessLookupError:
        return None


def _is_live(port: int) -> bool:
    """Whether a server of ours answers there."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health/live", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


class Stack:
    """Processes of one Lastgood below `home`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        servers.give_database(home)
        self.postgres, self.valkey = Postgres(home), Valkey(home)
        self.port = free_port()
        self.env = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "LASTGOOD_HOME": str(home),
            "DATABASE_URL": self.postgres.start(),
            "REDIS_URL": self.valkey.start(),
            "PORT": str(self.port),
            "CELERY_SKIP_CHECKS": "1",  # as QUICK
        }
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.token = self.manage("token", "test", "--scope", "read,ingest,operate", QUICK).strip()

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
        """Starts a process; its output goes to home/<name>.log. Two of one name are a mistake."""
        assert name not in self.running, f"{name} runs already"
        with (self.home / f"{name}.log").open("ab") as out:
            self.running[name] = subprocess.Popen(
                argv, cwd=ROOT, env=self.env, stdout=out, stderr=out, start_new_session=True
            )

    def start_web(self) -> None:
        """granian as in production; returns when it answers."""
        self.start("web", [
            sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1",
            "--port", str(self.port), "--blocking-threads", "24", "config.wsgi:application",
        ])  # fmt: skip
        until(self._web_answers, "web")

    def _web_answers(self) -> bool:
        return _is_live(self.port)

    def start_events(self, port: int | None = None) -> int:
        """The event process as in production; its port, once it answers."""
        port = port or free_port()
        self.start("events", [
            sys.executable, "-m", "granian", "--interface", "asginl", "--host", "127.0.0.1",
            "--port", str(port), "config.asgi:application",
        ])  # fmt: skip
        until(lambda: _is_live(port), "the event process")
        return port

    def cookie(self) -> str:
        """The session of a person who has just signed in, as a browser sends it."""
        link = next(word for word in self.manage("login_link", QUICK).split() if "/login/" in word)
        answer = httpx.get(f"{self.url}/login/{link.rsplit('/', 1)[1]}", timeout=DEADLINE_S)
        return f"lastgood_session={answer.cookies['lastgood_session']}"

    def start_writer(self) -> None:
        """The stream consumer."""
        self.start("writer", [sys.executable, "manage.py", "consumer", "--name", "w0", QUICK])

    def start_worker(self) -> None:
        """A Celery worker."""
        argv = ["-m", "celery", "-A", "workers.celery", "worker", "--pool", "solo", "-l", "INFO"]
        before = len(self.log("worker"))
        self.start("worker", [sys.executable, *argv])
        until(lambda: "ready" in self.log("worker")[before:], "the worker")

    @contextmanager
    def asking_for(self, job: str) -> Iterator[None]:
        """Meanwhile the workers are asked for a job four times a second.

        A fixed number of jobs could all be done before there is anything for them to do.
        """
        code = (
            "import time, django; django.setup()\n"
            "from workers.celery import app\n"
            f"while True: app.send_task('{job}'); time.sleep(0.25)\n"
        )
        self.start("asker", [sys.executable, "-c", code])
        try:
            yield
        finally:
            self.kill("asker")

    def no_job_waits(self) -> bool:
        """Whether the broker's queue is empty."""
        return redis.Redis.from_url(self.env["REDIS_URL"]).llen("celery:celery") == 0

    def bucket_is_away(self) -> bool:
        """Whether a process has noted that the log bucket fails."""
        return bool(redis.Redis.from_url(self.env["REDIS_URL"]).exists("{logs}:bucket"))

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of the database."""
        with psycopg.connect(self.env["DATABASE_URL"]) as connection:
            return connection.execute(sql).fetchall()

    def run_writer_that_dies_before_acknowledging(self) -> None:
        """A writer that is SIGKILLed right after its first commit."""
        code = (
            "import os, signal, django; django.setup()\n"
            "from apps.ingest import stream\n"
            "from workers.writer.loop import Writer\n"
            "stream.done = lambda entries: entries and os.kill(os.getpid(), signal.SIGKILL)\n"
            "Writer('w0').run()\n"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=self.env, timeout=60)
        assert done.returncode == -signal.SIGKILL

    def threads(self, name: str) -> int:
        """Threads of the process and of what it started."""
        listed = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
        own = [path for path in listed if _session(path) == self.running[name].pid]
        return sum(len(list((path / "task").iterdir())) for path in own)

    def log(self, name: str) -> str:
        """What the processes of this name have printed."""
        printed = self.home / f"{name}.log"
        return printed.read_text(errors="replace") if printed.exists() else ""

    def kill(self, name: str, how: int = signal.SIGKILL) -> None:
        """A signal to the process and all it started; returns when it has ended."""
        process = self.running.pop(name)
        os.killpg(process.pid, how)
        process.wait()

    def get(self, path: str) -> dict[str, Any]:
        """JSON of the REST API."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.get(f"{self.url}/api/v1/{path}", headers=headers, timeout=DEADLINE_S).json()

    def send_losses(self, run: str, first: int, last: int) -> None:
        """Rows of a falling loss, one a step; `last` is the first that is not sent."""
        rows = [{"step": s, "values": {"train/loss": 2 - s / 1000}} for s in range(first, last)]
        httpx.post(
            f"{self.url}/api/v1/runs/{run}/metrics",
            json={"source": "http", "rows": rows},
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=DEADLINE_S,
        ).raise_for_status()

    def drained(self, run: str) -> bool:
        """Whether all that was accepted is written and analysed."""
        status = self.get(f"runs/{run}/ingest")
        return status["pending"] == 0 and status["behind"] == 0

    def counters(self, run: str) -> dict[str, int]:
        """The run's counters."""
        return self.get(f"runs/{run}/ingest")["counters"]

    def pending(self) -> int:
        """Entries handed to a writer and not acknowledged."""
        client = redis.Redis.from_url(self.env["REDIS_URL"])
        return client.xpending("{ingest}:stream", "writers")["pending"]

    def steps_of(self, run: str, keys: Sequence[str]) -> dict[str, list[int]]:
        """key -> every stored step, sorted; a step stored twice stands there twice."""
        found = self.get(f"runs/{run}/series?keys={','.join(keys)}&points=4000")["series"]
        return {
            window["key"]: [
                step
                for step, count in zip(window["step"], window["count"], strict=True)
                for _ in range(count)
            ]
            for window in found
        }

    def values_of(self, run: str, key: str) -> dict[int, float]:
        """step -> the value that is stored, for values that are finite and stored once."""
        (window,) = self.get(f"runs/{run}/series?keys={key}&points=4000")["series"]
        assert set(window["count"]) <= {1}
        return dict(zip(window["step"], window["last"], strict=True))

    def line_steps_by_source(self, run: str) -> dict[str, list[int]]:
        """source -> the step of every stored line, sorted, all pages."""
        steps: dict[str, list[int]] = {}
        after: str | None = ""
        while after is not None:
            page = self.get(f"runs/{run}/logs?limit=500&after={after}")
            for line in page["items"]:
                steps.setdefault(line["source"], []).append(line["step"])
            after = page["next"]
        return {source: sorted(found) for source, found in steps.items()}

    def stop(self) -> None:
        """Ends everything."""
        for name in list(self.running):
            self.kill(name)
        self.valkey.stop()
        self.postgres.stop()
