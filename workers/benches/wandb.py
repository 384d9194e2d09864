"""`bench wandb`: what it costs to receive W&B data, to read a `.wandb` file, and to keep a point.

- Receiver: file_stream bodies of 500 steps, two runs at once, to real web, consumer, Postgres and
  Valkey processes with real fsync. CPU seconds of all four until the rows are committed and
  analysed. With --peer, programs of others take the same bodies in the same run.
- Reader: framing, checksum, skipping and decoding of a `.wandb` file to rows, in one process.
- Bytes a point: tables with indexes and TOAST after compaction and VACUUM, without WAL.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import connection

from apps.accounts.services import make_token
from apps.ingest.wandb.parse import decode, read_records
from apps.metrics.services import compact
from apps.runs import store as runs
from workers.benches import peers, wandb_load
from workers.benches.processes import BenchProcesses, processes, wait_until_written
from workers.benches.report import BenchOptions, BenchReport
from workers.benches.servers import servers
from workers.embedded.server import HOST

STEPS = 20_000
KEYS = 60
RUNS = 2
READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Received:
    """What the receiver took. disk_bytes_per_point: of the points and what rows say beside them,
    compacted."""

    steps: int
    keys: int
    cpu_s: dict[str, float]
    wall_s: float
    disk_bytes_per_point: float
    consumer_peak_bytes: int

    @property
    def total_cpu_s(self) -> float:
        """CPU seconds of all processes."""
        return max(sum(self.cpu_s.values()), 0.01)


def run(options: BenchOptions) -> BenchReport:
    """Steps per CPU second of the receiver and its peers, values of the reader, bytes a point."""
    steps, keys = options.steps or STEPS, options.keys or KEYS
    bodies = _bodies(steps, keys)
    with servers() as running, processes(running) as started:
        received = _receive(started, bodies, keys)
    others = peers.measure(options.peers, bodies)
    values, cpu_s = _read(options.data, steps, keys)
    figures = {
        **_figures(received),
        "reader_values": values,
        "reader_values_per_cpu_s": round(values / cpu_s),
        **{f"{peer.name}_steps_per_cpu_s": round(peer.steps_per_cpu_s, 1) for peer in others},
        **{f"{peer.name}_steps_per_s": round(peer.steps_per_s, 1) for peer in others},
        **{f"times_{peer.name}": _ratio(received, peer) for peer in others},
        **{f"times_{peer.name}_wall": _wall_ratio(received, peer) for peer in others},
    }
    table = [(name.replace("_", " "), str(value)) for name, value in figures.items()]
    return BenchReport(("what", "value"), tuple(table), figures)


def _bodies(steps: int, keys: int) -> list[list[bytes]]:
    """A list a run, `steps` in all behind the first body of each, which warms up."""
    each = max(1, steps // RUNS) + wandb_load.POST_STEPS
    return [list(wandb_load.stream_bodies(each, keys, seed)) for seed in range(RUNS)]


def _receive(started: BenchProcesses, bodies: Sequence[Sequence[bytes]], keys: int) -> Received:
    key = make_token("bench", ["ingest"], wandb=True)
    receiver = wandb_load.Receiver(HOST, started.port, "lastgood/bench", key)
    run_ids = [runs.ensure_run(f"bench-{number}") for number in range(RUNS)]
    disk = _disk_bytes()
    wandb_load.post_all(receiver, [one_run[:1] for one_run in bodies])
    wait_until_written(run_ids)
    measured = [one_run[1:] for one_run in bodies]
    before, wall = started.parts_cpu_s(), time.perf_counter()
    wandb_load.post_all(receiver, measured)
    wait_until_written(run_ids)
    wall, after = time.perf_counter() - wall, started.parts_cpu_s()
    peak = started.consumer_peak_bytes()
    for run_id in run_ids:
        compact(run_id, everything=True)
    return Received(
        steps=wandb_load.steps_of(measured),
        keys=keys,
        cpu_s={name: after[name] - before[name] for name in after},
        wall_s=wall,
        disk_bytes_per_point=(_disk_bytes() - disk) / keys / wandb_load.steps_of(bodies),
        consumer_peak_bytes=peak,
    )


def _figures(found: Received) -> dict[str, float]:
    points = found.steps * found.keys
    return {
        "steps": found.steps,
        "points": points,
        "steps_per_cpu_s": round(found.steps / found.total_cpu_s),
        "points_per_cpu_s": round(points / found.total_cpu_s),
        "steps_per_s": round(found.steps / found.wall_s),
        "points_per_s": round(points / found.wall_s),
        **{f"{name}_cpu_s": round(cpu_s, 2) for name, cpu_s in found.cpu_s.items()},
        "disk_bytes_per_point": round(found.disk_bytes_per_point, 2),
        "consumer_peak_mib": found.consumer_peak_bytes >> 20,
    }


def _ratio(found: Received, peer: peers.PeerFigures) -> float:
    return round(found.steps / found.total_cpu_s / peer.steps_per_cpu_s, 1)


def _wall_ratio(found: Received, peer: peers.PeerFigures) -> float:
    return round(found.steps / found.wall_s / peer.steps_per_s, 1)


def _read(folder: Path | None, steps: int, keys: int) -> tuple[int, float]:
    """Values read, and the CPU seconds that took; as the agent and the consumer together read."""
    files = sorted(folder.rglob("*.wandb")) if folder else []
    data = [path.read_bytes() for path in files] or [wandb_load.wandb_file(steps, keys)]
    values, began = 0, time.process_time()
    for whole in data:
        offset = 0
        while offset < len(whole):
            found = read_records(whole[offset : offset + READ_BYTES], offset)
            if found.next_offset == offset:
                break
            offset = found.next_offset
            rows = decode(found.records, now_ns=0).rows
            values += sum(len(row.values) for row in rows)
    return values, max(time.process_time() - began, 0.01)


def _disk_bytes() -> int:
    """Bytes of the tables that grow with rows, their indexes and TOAST."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'public' AND c.relkind = 'r'"
            " AND (c.relname LIKE 'metrics%%' OR c.relname = 'ingest_wandbextra')"
        )
        return int(cursor.fetchone()[0])
