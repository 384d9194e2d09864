"""`bench ingest`: from compressed bodies to committed rows, on servers with real fsync.

Measured: the writer's work (inflate, parse, pack, COPY, commit) in CPU seconds of this process
and of Postgres together, and the bytes the tables grew by. The HTTP door is not in it.
Cost grows linearly with lines and points; a group of bodies shares one commit.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import orjson
import zstandard
from django.db import connection

from apps.ingest.digest import digest
from apps.ingest.envelope import Envelope
from apps.runs import store as runs
from workers.benches import corpus
from workers.benches.report import BenchOptions, BenchReport
from workers.benches.servers import BenchServers, servers

LOG_STEPS = 6_000
METRIC_STEPS = 20_000
GROUP = 16
CLOCK_S = 0.01
"""What the kernel counts CPU time in."""
ROWS_A_BODY = 200
_STEP_NS = 400_000_000


@dataclass(frozen=True, slots=True)
class Figures:
    """What one part took. units: lines or points. raw_bytes: before compression."""

    units: int
    raw_bytes: int
    disk_bytes: int
    cpu_s: float
    wall_s: float


def run(options: BenchOptions) -> BenchReport:
    """Lines and points per CPU second, bytes on disk per raw byte and per point."""
    with servers() as running:
        run_id = runs.ensure_run("bench")
        made_up = corpus.made_up(options.steps or LOG_STEPS)
        pieces = corpus.pieces_of_folder(options.data) if options.data else made_up
        rows = corpus.metric_rows(options.steps or METRIC_STEPS)
        lines = _measure(running, "logs", _log_bodies(pieces), run_id)
        points = _measure(running, "metrics", _metric_bodies(rows), run_id)
    figures = {
        "lines": lines.units,
        "lines_per_cpu_s": round(lines.units / lines.cpu_s),
        "raw_mb_per_cpu_s": round(lines.raw_bytes / 1e6 / lines.cpu_s, 2),
        "disk_bytes_per_raw_byte": round(lines.disk_bytes / lines.raw_bytes, 4),
        "points": points.units,
        "points_per_cpu_s": round(points.units / points.cpu_s),
        "disk_bytes_per_point": round(points.disk_bytes / points.units, 2),
        "lines_per_s": round(lines.units / lines.wall_s),
        "points_per_s": round(points.units / points.wall_s),
    }
    table = (
        ("log lines", _n(lines.units), _n(figures["lines_per_cpu_s"]), _n(figures["lines_per_s"]),
         f"{figures['disk_bytes_per_raw_byte']} per raw byte"),
        ("metric points", _n(points.units), _n(figures["points_per_cpu_s"]),
         _n(figures["points_per_s"]), f"{figures['disk_bytes_per_point']} per point"),
    )  # fmt: skip
    return BenchReport(("what", "count", "per CPU s", "per s", "bytes on disk"), table, figures)


def _n(value: float) -> str:
    return f"{value:,.0f}"


@dataclass(frozen=True, slots=True)
class _Body:
    raw: bytes
    units: int
    raw_bytes: int


def _log_bodies(pieces: Iterable[corpus.Piece]) -> Iterator[_Body]:
    for piece in pieces:
        segment = {
            "source": piece.source,
            "channel": "stderr",
            "local_rank": piece.local_rank,
            "offset": piece.offset,
            "bytes": len(piece.data),
            "seen_ns": time.time_ns(),
        }
        header = {"v": 1, "attempt": 0, "node": piece.node, "segments": [segment]}
        raw = orjson.dumps(header) + b"\n" + piece.data
        yield _Body(raw, piece.data.count(b"\n"), len(piece.data))


def _metric_bodies(source: Iterator[dict[str, float]]) -> Iterator[_Body]:
    start_ns, step = time.time_ns(), 0
    while chunk := list(islice(source, ROWS_A_BODY)):
        rows = [
            {"step": step + at, "time_ns": start_ns + (step + at) * _STEP_NS, "values": values}
            for at, values in enumerate(chunk)
        ]
        step += len(rows)
        raw = orjson.dumps({"attempt": 0, "rows": rows})
        yield _Body(raw, sum(len(values) for values in chunk), len(raw))


def _measure(running: BenchServers, endpoint: str, bodies: Iterator[_Body], run_id: int) -> Figures:
    made = list(bodies)
    envelopes = [_envelope(endpoint, at, body.raw, run_id) for at, body in enumerate(made)]
    disk, cpu, wall = _disk_bytes(), running.cpu_s(), time.perf_counter()
    for at in range(0, len(envelopes), GROUP):
        # Not into quarantine: a fault is shown, with its reason.
        digest(envelopes[at : at + GROUP], quarantine=False)
    cpu, wall = running.cpu_s() - cpu, time.perf_counter() - wall
    return Figures(
        units=sum(body.units for body in made),
        raw_bytes=sum(body.raw_bytes for body in made),
        disk_bytes=_disk_bytes() - disk,
        cpu_s=max(cpu, CLOCK_S),
        wall_s=wall,
    )


def _envelope(endpoint: str, at: int, raw: bytes, run_id: int) -> Envelope:
    return Envelope(
        version=1,
        batch_id=f"bench:{endpoint}:{at}",
        endpoint=endpoint,
        encoding="zstd",
        run_id=run_id,
        run_key="bench",
        token="bench",  # noqa: S106 - a name, no secret
        received_ns=time.time_ns(),
        body=zstandard.compress(raw, 3),
    )


def _disk_bytes() -> int:
    """Bytes of all tables with their indexes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'public' AND c.relkind = 'r'"
        )
        return int(cursor.fetchone()[0])
