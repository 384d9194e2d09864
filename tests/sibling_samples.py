"""Losses of runs under one schedule: one shape, levels of their own."""

from __future__ import annotations

import numpy as np
from django.utils import timezone

from apps.core.records import MetricRow
from apps.metrics import store
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.metric_samples import T0_NS, S

STEPS = 2_000


def losses(level=0.0, seed=0, noise=0.02, steps=STEPS):
    """A descent from 6 to about 2.5 with a cooldown, `level` above it."""
    x = np.arange(steps) / steps
    shape = 2.4 + 3.6 * (1 + 40 * x) ** -0.7 - 0.25 * np.clip(x - 0.7, 0, None)
    return shape + level + noise * np.random.default_rng(seed).standard_normal(steps)


def logged(key, values, *, project="llm", config=None, attempt=0, first_step=0):
    """A run in the database with these losses and a learning rate; its id."""
    run_id = runs.ensure_run(key)
    runs.open_attempt(run_id, attempt, T0_NS)
    add(run_id, values, attempt=attempt, first_step=first_step)
    seen = Progress(project=project, config={"max_steps": STEPS} if config is None else config)
    runs.note_progress(run_id, attempt, seen, timezone.now())
    return run_id


def add(run_id, values, *, attempt=0, first_step=0):
    """More rows of a run."""
    steps = range(first_step, first_step + len(values))
    rows = [
        MetricRow(step, T0_NS + step * S, {"train/loss": float(value), "train/lr": 1e-3})
        for step, value in zip(steps, values, strict=True)
    ]
    store.write_rows(run_id, attempt, rows, source="test")
    seen = Progress(first_step=steps[0], last_step=steps[-1], last_row_ns=rows[-1].time_ns)
    runs.note_progress(run_id, attempt, seen, timezone.now())
