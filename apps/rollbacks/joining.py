"""The rows of a chain of attempts as one curve for each series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.metrics import store as metrics
from apps.metrics.domain.blocks import Floats, Ints
from apps.rollbacks.domain.lineage import Stretch
from apps.rollbacks.domain.trend import EMPTY, Curve


def timed(run_id: int, key: str, attempt: int, steps: tuple[int, int]) -> tuple[Curve, list[int]]:
    """The rows of one attempt in [first, last] of `steps`, and their times in ns."""
    return columns(run_id, [key], attempt, steps).get(key, (EMPTY, []))


def columns(
    run_id: int, keys: Sequence[str], attempt: int, steps: tuple[int, int]
) -> dict[str, tuple[Curve, list[int]]]:
    """name -> as `timed`, of several series in one read; one without a row is left out."""
    found = metrics.read_rows(run_id, attempt, keys, steps[0], steps[1])
    return {key: _unique(*rows) for key, rows in found.items() if len(rows[0])}


def _unique(steps: Ints, times: Ints, values: Floats) -> tuple[Curve, list[int]]:
    step, last_of = np.unique(np.asarray(steps)[::-1], return_index=True)
    value = np.asarray(values, np.float64)[::-1][last_of]
    time_ns = np.asarray(times)[::-1][last_of]
    return Curve(step.astype(np.int64), value), [int(t) for t in time_ns]


def joined(
    run_id: int, keys: Sequence[str], stretches: Sequence[Stretch], steps: tuple[int, int]
) -> dict[str, Curve]:
    """name -> the rows of a chain of attempts (newest first), each up to where the next took over.

    Both ends of `steps` included; of a step that was logged twice the later row. A series without
    a row is left out. One read for each attempt of the chain that reaches into `steps`.
    """
    parts: dict[str, list[Curve]] = {}
    for stretch in reversed(stretches):
        last = steps[1] if stretch.up_to_step is None else min(steps[1], stretch.up_to_step - 1)
        if last < steps[0] or not keys:
            continue
        found = metrics.read_rows(run_id, stretch.attempt, keys, steps[0], last)
        for key, (step, _, value) in found.items():
            curve = Curve(np.asarray(step, np.int64), np.asarray(value, np.float64))
            parts.setdefault(key, []).append(curve)
    return {key: _one(curves) for key, curves in parts.items()}


def _one(parts: Sequence[Curve]) -> Curve:
    step = np.concatenate([part.step for part in parts])
    loss = np.concatenate([part.loss for part in parts])
    unique, last_of = np.unique(step[::-1], return_index=True)
    return Curve(unique, loss[::-1][last_of])
