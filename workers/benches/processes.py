"""Web and consumer as in production, on the servers of a bench."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from apps.core.errors import AppError
from apps.ingest import services as ingest
from workers.benches.servers import BenchServers, tree, tree_s
from workers.embedded import server
from workers.embedded.probes import free_port
from workers.supervisor import probes

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 600.0
_KIB = 1024


@dataclass(frozen=True, slots=True)
class BenchProcesses:
    """One web and one consumer. port: of web."""

    servers: BenchServers
    web_pid: int
    consumer_pid: int
    port: int

    def parts_cpu_s(self) -> dict[str, float]:
        """CPU seconds so far of web, consumer, Postgres and Valkey, each with its children."""
        pids = {
            "web": self.web_pid,
            "consumer": self.consumer_pid,
            "postgres": self.servers.postgres.pid,
            "valkey": self.servers.valkey.pid,
        }
        return {name: tree_s(pid) for name, pid in pids.items()}

    def consumer_peak_bytes(self) -> int:
        """The most memory the consumer has had (VmHWM)."""
        return _peak_bytes(self.consumer_pid)

    def web_peak_bytes(self) -> int:
        """The most memory the largest process of web has had."""
        return max(map(_peak_bytes, tree(self.web_pid)))


def _peak_bytes(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    peak = next(line for line in text.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) * _KIB


def wait_until(
    true: Callable[[], bool], what: str, deadline_s: float = DEADLINE_S, every_s: float = 0.05
) -> None:
    """Returns once `true`; AppError if that takes longer than the deadline."""
    end = time.monotonic() + deadline_s
    while not true():
        if time.monotonic() > end:
            raise AppError(f"waited {deadline_s:.0f} s for {what}")
        time.sleep(every_s)


def wait_until_written(run_ids: list[int]) -> None:
    """Returns once the stream is empty and the runs are analysed."""
    wait_until(
        lambda: all(
            (status := ingest.status(run_id)).pending == 0 and not status.behind
            for run_id in run_ids
        ),
        "the consumer",
        every_s=0.25,  # each question costs the servers that are measured
    )


@contextmanager
def processes(servers: BenchServers) -> Iterator[BenchProcesses]:
    """Web and consumer, ready; ended afterwards. Their output lies in servers.home."""
    port = free_port()
    env = {
        **os.environ,
        "LASTGOOD_HOME": str(servers.home),
        "DATABASE_URL": servers.database_url,
        "REDIS_URL": settings.REDIS_URL,
        "INGEST_RATE_BYTES_S": str(1 << 40),
        "PORT": str(port),
    }
    web_words = ("-m", "granian", "--interface", "wsgi", "--host", server.HOST, "--port", str(port),
                 "--blocking-threads", "12", "config.wsgi:application")  # fmt: skip
    with (
        child("web", web_words, servers.home, env) as web,
        child("consumer", ("manage.py", "consumer"), servers.home, env) as consumer,
    ):
        log = servers.home / "consumer.log"
        wait_until(lambda: probes.http_ok(server.HOST, port, "/health/live") is None, "web")
        wait_until(lambda: " is reading" in log.read_text(), "the consumer's start")
        yield BenchProcesses(servers, web.pid, consumer.pid, port)


@contextmanager
def child(
    name: str, words: tuple[str, ...], home: Path, env: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A program of ours, ended afterwards; its output lies in home/<name>.log."""
    with (home / f"{name}.log").open("wb") as out:
        process = subprocess.Popen(  # noqa: S603 - our own programs
            (sys.executable, *words), cwd=ROOT, env=env, stdout=out, stderr=out
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
