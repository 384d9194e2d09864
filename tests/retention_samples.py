"""Runs that have saved checkpoints, for the tests of retention and of planning."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils import timezone

from apps.checkpoints import services
from apps.core.records import CheckpointSeen, MetricRow
from apps.metrics import store as metrics
from apps.runs import services as run_services
from apps.runs import store as runs
from apps.runs.records import LaunchSeen, PlacementInfo, Progress, RunInfo

S = 10**9
HOUR_NS = 3_600 * S
DAY_NS = 24 * HOUR_NS
SIZE = 1_000


def run_with(
    now_ns: int,
    steps: Sequence[int],
    *,
    key: str = "boat",
    project: str = "llm",
    every_s: int = 3600,
) -> RunInfo:
    """A run that saved these steps, an hour (or every_s) apart, the last one so long ago."""
    run_id = runs.ensure_run(key)
    runs.open_attempt(run_id, 0, now_ns - (len(steps) + 1) * every_s * S)
    runs.note_progress(run_id, 0, Progress(project=project), timezone.now())
    save(run_id, now_ns, steps, every_s=every_s)
    return runs.run_by_id(run_id)


def trained(now_ns: int, *, key: str = "boat", gpus: int = 16) -> RunInfo:
    """Two attempts of a run that logs each tenth step of 10 s and saves each 100th, 60 s long.

    The first trained 1,050 steps from 600 s after its start on and died; 900 s later the second
    began at step 1,000, logged its first step after 300 s and trained on until now.
    """
    run_id = runs.ensure_run(key)
    rows_s = 1_050 * 10 + 10 * 60
    second_s = 200 * 10 + 2 * 60
    began_ns = now_ns - (600 + rows_s + 900 + 300 + second_s) * S
    _train(run_id, 0, began_ns, range(1, 1_051), 600, gpus)
    again_ns = began_ns + (600 + rows_s + 900) * S
    _train(run_id, 1, again_ns, range(1_001, 1_201), 300, gpus)
    return runs.run_by_id(run_id)


def _train(
    run_id: int, attempt: int, began_ns: int, steps: Sequence[int], first_s: int, gpus: int
) -> None:
    key = runs.keys([run_id])[run_id]
    resumed = steps[0] - 1 if attempt else None
    launch = LaunchSeen("torchrun:a", f"start-{attempt}", began_ns, resume_step=resumed)
    run_services.register_launch(key, launch)
    placed = [PlacementInfo(rank, f"gpu-{rank // 8}", rank % 8) for rank in range(gpus)]
    runs.record_placements(run_id, attempt, placed)
    at_ns = began_ns + first_s * S
    rows, saved = [], []
    for step in steps:
        at_ns += 10 * S
        if step % 100 == 0:
            at_ns += 60 * S
            saved.append((step, at_ns))
        if step % 10 == 0 or step == steps[0]:
            rows.append(MetricRow(step, at_ns, {"train/loss": 2.0}))
    metrics.write_rows(run_id, attempt, rows, source="test")
    files = {".metadata": 10, "__0_0.distcp": SIZE - 10}
    seen = [CheckpointSeen(step, f"/data/{key}/step-{step}", at, 60.0, files) for step, at in saved]
    services.record(run_id, attempt, seen)
    said = Progress(steps[0], steps[-1], last_ns=at_ns, last_row_ns=at_ns, world_size=gpus)
    runs.note_progress(run_id, attempt, said, timezone.now())


def save(
    run_id: int, now_ns: int, steps: Sequence[int], attempt: int = 0, *, every_s: int = 3_600
) -> None:
    """Registers complete checkpoints of SIZE bytes."""
    seen = [
        CheckpointSeen(
            step=step,
            path=f"/data/boat/step-{step}",
            saved_at_ns=now_ns - (len(steps) - place) * every_s * S,
            save_s=30.0,
            files={".metadata": 10, "__0_0.distcp": SIZE - 10},
        )
        for place, step in enumerate(steps)
    ]
    services.record(run_id, attempt, seen)
