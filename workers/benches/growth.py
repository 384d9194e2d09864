"""`bench growth`: how cost grows with the length of a run, at a quarter, a half and all of it.

File_stream bodies of one run go to real web, consumer, Postgres and Valkey processes, as fast as
they are taken. Told for each size: the consumer's peak memory, CPU seconds a million points, and,
after compaction, how long one series takes to be drawn at 1,000 points from the store (median of
several series, each read for the first time). --steps and --keys scale it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from apps.accounts.services import make_token
from apps.metrics.records import SeriesQuery
from apps.metrics.services import compact
from apps.metrics.store import read_series
from apps.runs import store as runs
from workers.benches import wandb_load
from workers.benches.processes import BenchProcesses, processes, wait_until_written
from workers.benches.report import BenchOptions, BenchReport
from workers.benches.servers import servers
from workers.embedded.server import HOST

STEPS = 40_000
KEYS = 500
SHARES = (1, 2, 4)
DRAWN = 9
POINTS = 1_000
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class _Size:
    """What was seen when the run had so many steps."""

    steps: int
    peak_bytes: int
    cpu_s_a_million: float
    draw_ms: float


def run(options: BenchOptions) -> BenchReport:
    """Memory, CPU and drawing time at three lengths of one run."""
    steps, keys = options.steps or STEPS, options.keys or KEYS
    with servers() as running, processes(running) as started:
        sizes = _grow(started, steps, keys)
    first, last = sizes[0], sizes[-1]
    figures = {
        "keys": keys,
        "sizes": [
            {
                "steps": size.steps,
                "consumer_peak_mib": size.peak_bytes // _MIB,
                "cpu_s_per_million_points": round(size.cpu_s_a_million, 3),
                "draw_ms": round(size.draw_ms, 2),
            }
            for size in sizes
        ],
        "peak_growth_mib": (last.peak_bytes - first.peak_bytes) // _MIB,
    }
    rows = tuple(
        (f"{s.steps:,}", f"{s.peak_bytes // _MIB}", f"{s.cpu_s_a_million:.3f}", f"{s.draw_ms:.2f}")
        for s in sizes
    )
    return BenchReport(("steps", "consumer MiB", "CPU s/M points", "draw ms"), rows, figures)


def _grow(started: BenchProcesses, steps: int, keys: int) -> list[_Size]:
    key = make_token("bench", ["ingest"], wandb=True)
    receiver = wandb_load.Receiver(HOST, started.port, "lastgood/bench", key)
    run_id = runs.ensure_run("bench-0")
    bodies = wandb_load.stream_bodies(steps, keys)
    sizes: list[_Size] = []
    sent = 0
    for share in SHARES:
        until = steps * share // SHARES[-1]
        before = sum(started.parts_cpu_s().values())
        began_at = sent
        while sent < until and (body := next(bodies, None)) is not None:
            wandb_load.post_all(receiver, [[body]])
            sent += wandb_load.steps_of([[body]])
        wait_until_written([run_id])
        cpu_s = sum(started.parts_cpu_s().values()) - before
        compact(run_id, everything=True)
        names = [f"layer/{at:02d}" for at in range(0, keys, max(1, keys // DRAWN))]
        sizes.append(
            _Size(
                steps=sent,
                peak_bytes=started.consumer_peak_bytes(),
                cpu_s_a_million=cpu_s / max((sent - began_at) * keys, 1) * 1e6,
                draw_ms=_draw_ms(run_id, names),
            )
        )
    return sizes


def _draw_ms(run_id: int, names: Sequence[str]) -> float:
    """Milliseconds to read one series at POINTS points, the median of several series."""
    found = []
    for name in names:
        began = time.perf_counter()
        (window,) = read_series(SeriesQuery(run_id=run_id, keys=(name,), points=POINTS))
        found.append((time.perf_counter() - began) * 1e3)
        if not window.points_drawn:
            raise ValueError(f"series {name} is empty")
    return statistics.median(found)
