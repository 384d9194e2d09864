"""The log corpus into a Lastgood of its own: what that costs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from django.db import connection

from apps.accounts.services import make_token
from apps.core.errors import AppError
from apps.ingest import services as ingest
from apps.runs import store as runs
from workers.benches import logsend
from workers.benches.processes import BenchProcesses, wait_until_written
from workers.embedded.server import HOST

RUN = "bench-logs"
# Relations by what they hold; a relation of no known prefix is not of logs.
_PARTS = (
    ("chunks", "logs_chunk"),
    ("events", "logs_event"),
    ("other_logs", "logs_"),
    ("metrics", "metrics_"),
)
_SIZES = """
    SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid) FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind = 'r'
"""


@dataclass(frozen=True, slots=True)
class Filled:
    """What one filling took. cpu_s: by process; agent_cpu_s: of making the bodies. raw_bytes: of
    the bodies before compression. disk_bytes: by part, indexes told apart. counters: of the run."""

    run_id: int
    lines: int
    raw_bytes: int
    sent_bytes: int
    cpu_s: dict[str, float]
    wall_s: float
    disk_bytes: dict[str, int]
    consumer_peak_bytes: int
    counters: dict[str, int]
    agent_cpu_s: float = 0.0

    @property
    def lines_per_cpu_s(self) -> float:
        """Lines a CPU second of web, consumer, Postgres and Valkey together."""
        return self.lines / max(sum(self.cpu_s.values()), 0.01)


def fill(started: BenchProcesses, corpus: Path, door: str, gpus_per_host: int = 8) -> Filled:
    """Sends the corpus through HTTP; returns once it is durable and analysed."""
    wire = wire_of(corpus, door, gpus_per_host)
    token = make_token("bench", ["ingest"])
    run_id = runs.ensure_run(RUN)
    empty = _disk_bytes()
    before, wall = started.parts_cpu_s(), time.perf_counter()
    logsend.send(HOST, started.port, f"/api/v1/runs/{RUN}/{wire.endpoint}", token, wire)
    wait_until_written([run_id])
    wall, after = time.perf_counter() - wall, started.parts_cpu_s()
    counters = ingest.status(run_id).counters
    if counters.get("lines") != wire.lines:
        log = (started.servers.home / "consumer.log").read_text(errors="replace")
        raise AppError(f"{wire.lines} lines were sent, {counters} stored", hint=log[-3000:])
    disk = _disk_bytes()
    return Filled(
        run_id=run_id,
        lines=wire.lines,
        raw_bytes=wire.raw_bytes,
        sent_bytes=sum(len(body) for bodies in wire.by_host for body in bodies),
        cpu_s={name: after[name] - before[name] for name in after},
        wall_s=wall,
        disk_bytes={name: disk[name] - empty[name] for name in disk},
        consumer_peak_bytes=started.consumer_peak_bytes(),
        counters=counters,
        agent_cpu_s=wire.agent_cpu_s,
    )


def wire_of(corpus: Path, door: str, gpus_per_host: int) -> logsend.Wire:
    """The bodies for a door."""
    if door == logsend.SEGMENTS:
        return logsend.segments_of(corpus, gpus_per_host)
    if door == logsend.PACKED:
        return logsend.parcels_of(corpus, gpus_per_host)
    return logsend.entries_of(corpus)


def _disk_bytes() -> dict[str, int]:
    """Bytes of tables with TOAST by part, and of all their indexes."""
    found = dict.fromkeys((*(name for name, _ in _PARTS), "log_indexes"), 0)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute(_SIZES)
        for table, table_bytes, index_bytes in cursor.fetchall():
            part = next((name for name, prefix in _PARTS if table.startswith(prefix)), None)
            if part == "metrics":
                found[part] += table_bytes + index_bytes
            elif part:
                found[part] += table_bytes
                found["log_indexes"] += index_bytes
    return found
