"""Runs that have saved checkpoints, for the tests of retention and of planning."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils import timezone

from apps.checkpoints import services
from apps.core.records import CheckpointSeen
from apps.runs import store as runs
from apps.runs.records import Progress, RunInfo

HOUR_NS = 3_600 * 10**9
DAY_NS = 24 * HOUR_NS
SIZE = 1_000


def run_with(
    now_ns: int, steps: Sequence[int], *, key: str = "boat", project: str = "llm"
) -> RunInfo:
    """A run that saved these steps, an hour apart, the last one an hour ago."""
    run_id = runs.ensure_run(key)
    runs.open_attempt(run_id, 0, now_ns - (len(steps) + 1) * HOUR_NS)
    runs.note_progress(run_id, 0, Progress(project=project), timezone.now())
    save(run_id, now_ns, steps)
    return runs.run_by_id(run_id)


def save(run_id: int, now_ns: int, steps: Sequence[int], attempt: int = 0) -> None:
    """Registers complete checkpoints of SIZE bytes."""
    seen = [
        CheckpointSeen(
            step=step,
            path=f"/data/boat/step-{step}",
            saved_at_ns=now_ns - (len(steps) - place) * HOUR_NS,
            save_s=30.0,
            files={".metadata": 10, "__0_0.distcp": SIZE - 10},
        )
        for place, step in enumerate(steps)
    ]
    services.record(run_id, attempt, seen)
