"""The run that `bench ui` looks at: long, wide, deep, of many ranks, rolled back once.

A million steps of 500 names are half a billion points. The main series and VOICES others are
written as the consumer writes them, and compacted. What is synthetic: all further names repeat the
blocks and tiers of the voices, byte for byte, copied inside Postgres in the order in which a
compaction would have stored them. Whoever reads a series cannot tell: each name has rows, blocks
and buckets of its own. Checkpoints and the lines of the ranks go the same way as in production,
through the doors of the web process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import orjson
from numpy.typing import NDArray

from apps.accounts.services import make_token
from apps.checkpoints import services as checkpoints
from apps.core.grid import Grid
from apps.core.records import CheckpointSeen
from apps.core.sql import execute
from apps.metrics import store as metrics
from apps.metrics.services import compact
from apps.runs import store as runs
from apps.runs.progress_store import note_progress
from apps.runs.records import PlacementInfo, Progress
from workers.benches import logsend
from workers.benches.processes import BenchProcesses, wait_until_written
from workers.embedded.server import HOST

RUN = "bench-ui"
STEP_NS = 400_000_000
GPUS_PER_HOST = 8
CHECKPOINTS = 2_000
LINES_A_RANK = 4
VOICES = 8
_CELLS = 1 << 21
_FORK_SHARE = 0.6
_BACK_SHARE = 0.05
_LAYER_STATISTICS = ("grad_norm", "update_ratio")
_MAIN = ("train/loss", "train/grad_norm", "perf/step_time", "perf/tokens_per_s", "train/lr")
_NAMES = """
    INSERT INTO metrics_serieskey (run_id, key, ranked)
    SELECT %s, name, false FROM unnest(%s::text[]) AS name
"""
_PAIRS = """
      FROM unnest(%s::text[], %s::text[]) AS pair (name, voice)
      JOIN metrics_serieskey own ON own.run_id = %s AND own.key = pair.name AND NOT own.ranked
      JOIN metrics_serieskey of ON of.run_id = %s AND of.key = pair.voice AND NOT of.ranked
"""
_BLOCKS = f"""
    INSERT INTO metrics_coldblock (run_id, key_id, attempt, last_step, block_id, first_step,
           axis_id, points, nan, posinf, neginf, minimum, maximum, cells)
    SELECT b.run_id, own.key_id, b.attempt, b.last_step, b.block_id, b.first_step,
           b.axis_id, b.points, b.nan, b.posinf, b.neginf, b.minimum, b.maximum, b.cells {_PAIRS}
      JOIN metrics_coldblock b ON b.run_id = of.run_id AND b.key_id = of.key_id
     ORDER BY b.attempt, b.last_step, own.key_id
"""
_TIERS = f"""
    INSERT INTO metrics_tier (run_id, key_id, attempt, level, chunk, axis, cells)
    SELECT b.run_id, own.key_id, b.attempt, b.level, b.chunk, b.axis, b.cells {_PAIRS}
      JOIN metrics_tier b ON b.run_id = of.run_id AND b.key_id = of.key_id
     ORDER BY b.attempt, b.chunk, own.key_id
"""


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is. keys: names of the job, those of layers among them."""

    steps: int
    keys: int
    layers: int
    ranks: int

    @property
    def names(self) -> tuple[str, ...]:
        """What a step logs: the main series, statistics of layers, and other ones."""
        layered = [f"{of}/layers.{n}" for of in _LAYER_STATISTICS for n in range(self.layers)]
        rest = max(0, self.keys - len(_MAIN) - len(layered))
        return (*_MAIN, *layered, *(f"aux/series_{n:03d}" for n in range(rest)))

    @property
    def fork(self) -> int:
        """Where attempt 0 ends."""
        return int(self.steps * _FORK_SHARE)

    @property
    def back(self) -> int:
        """Where attempt 1 begins."""
        return int(self.steps * (_FORK_SHARE - _BACK_SHARE))

    @property
    def rows(self) -> int:
        """Rows of both attempts."""
        return self.fork + self.steps - self.back

    @property
    def written(self) -> tuple[str, ...]:
        """Those whose points are made; the others repeat the voices among them."""
        return self.names[: len(_MAIN) + VOICES]


@dataclass(frozen=True, slots=True)
class Filled:
    """The run. next_step, next_ns: where its newest attempt goes on."""

    run_id: int
    names: tuple[str, ...]
    points: int
    next_step: int
    next_ns: int
    token: str


def fill(started: BenchProcesses, size: Size) -> Filled:
    """The run, compacted and analysed."""
    run_id = runs.ensure_run(RUN)
    began_ns = time.time_ns() - (size.rows + 5) * STEP_NS
    points = write_metrics(run_id, size, began_ns)
    execute("VACUUM (ANALYZE) metrics_coldblock, metrics_coldaxis, metrics_tier")
    _save(run_id, size, began_ns)
    places = [PlacementInfo(r, _host(r), r % GPUS_PER_HOST) for r in range(size.ranks)]
    runs.record_placements(run_id, 1, places)
    token = make_token("bench", ["ingest"])
    end_ns = began_ns + size.rows * STEP_NS
    _say(started, size, token, end_ns)
    wait_until_written([run_id])
    return Filled(run_id, size.names, points, size.steps, end_ns, token)


def write_metrics(run_id: int, size: Size, began_ns: int) -> int:
    """Attempt 0 up to 60 % of the steps, attempt 1 from 55 %, compacted; how many points."""
    rows = _write(run_id, 0, size, (0, size.fork, began_ns))
    second_ns = began_ns + size.fork * STEP_NS
    rows += _write(run_id, 1, size, (size.back, size.steps, second_ns))
    _repeat(run_id, size)
    return rows * len(size.names)


def _write(run_id: int, attempt: int, size: Size, part: tuple[int, int, int]) -> int:
    """Rows from a step up to before another, the first at a time; how many."""
    first, end, began_ns = part
    runs.open_attempt(run_id, attempt, began_ns)
    for grid in _grids(size, first, end, began_ns):
        metrics.write_rows(run_id, attempt, grid, source="bench")
        compact(run_id)
    compact(run_id, everything=True)
    metrics.take_fresh(run_id, attempt)  # Half a billion points are no news to a detector.
    last_ns = began_ns + (end - 1 - first) * STEP_NS
    told = Progress(first, end - 1, last_ns, last_ns, world_size=size.ranks)
    note_progress(run_id, attempt, told, datetime.now(UTC))
    return end - first


def _grids(size: Size, first: int, end: int, began_ns: int) -> Iterator[Grid]:
    names = size.written
    rows = max(1, _CELLS // len(names))
    for start in range(first, end, rows):
        steps = np.arange(start, min(start + rows, end), dtype=np.int64)
        times = began_ns + (steps - first) * STEP_NS
        yield Grid(names, values(size, names, steps), steps.tolist(), times.tolist(), {})


def _repeat(run_id: int, size: Size) -> None:
    """The names that are not written get the blocks and tiers of the voices, in turn."""
    voices = size.written[len(_MAIN) :]
    names = list(size.names[len(size.written) :])
    of = [voices[at % len(voices)] for at in range(len(names))]
    if names:
        execute(_NAMES, [run_id, names])
        execute(_BLOCKS, [names, of, run_id, run_id])
        execute(_TIERS, [names, of, run_id, run_id])


def values(size: Size, names: Sequence[str], steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[steps, names] as a training logs them; the same steps always give the same.

    Float32 precision, as frameworks log. The loss has spikes and, past a third of the run, NaN.
    """
    chance = np.random.default_rng(int(steps[0]))
    noise = chance.standard_normal((len(steps), len(names)))
    found = np.exp(noise * 0.1)
    loss = 2.0 + 9.0 / np.sqrt(1.0 + steps / 50.0) + noise[:, 0] * 0.02
    loss[chance.random(len(steps)) < 2e-5] += 4.0
    loss[(steps // 7) % max(1, size.steps // 21) == size.steps // 63] = np.nan
    found[:, 0] = loss
    found[:, 3] *= 41_000.0
    found[:, 4] = 3e-4 * np.cos(np.pi / 2 * steps / max(1, size.steps))
    return found.astype(np.float32).astype(np.float64)


def _save(run_id: int, size: Size, began_ns: int) -> None:
    every = max(1, size.steps // CHECKPOINTS)
    seen = [
        CheckpointSeen(step, f"/ckpt/{step}", began_ns + step * STEP_NS, 30.0, {"shard": 1 << 30})
        for step in range(every, size.steps, every)
    ]
    checkpoints.record(run_id, 1, seen)


def _host(rank: int) -> str:
    return f"gpu-{rank // GPUS_PER_HOST:04d}"


def _say(started: BenchProcesses, size: Size, token: str, end_ns: int) -> None:
    """A few lines of every rank, one rank with an error."""
    by_host: dict[str, list[bytes]] = {}
    for rank in range(size.ranks):
        for n in range(LINES_A_RANK):
            loud = rank == size.ranks // 3 and n == LINES_A_RANK - 1
            line = {
                "ts": (end_ns - (LINES_A_RANK - n) * 10**10) / 1e9,
                "host": _host(rank),
                "rank": rank,
                "level": "ERROR" if loud else "INFO",
                "msg": "NCCL watchdog timeout" if loud else f"step {size.steps - 40 + n} done",
            }
            by_host.setdefault(_host(rank), []).append(orjson.dumps(line) + b"\n")
    bodies = [[logsend.packed(b"".join(lines))] for lines in by_host.values()]
    grouped = [[body for host in bodies[at::8] for body in host] for at in range(8)]
    wire = logsend.Wire("lines", [part for part in grouped if part], 0, 0)
    logsend.send(HOST, started.port, f"/api/v1/runs/{RUN}/lines", token, wire)
