"""Loud log lines along the axis of the flight deck: how many errors, where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.core.records import Severity
from apps.dashboard.curves import Curve
from apps.logs import search

BUCKETS = 240
_LOUD = (Severity.ERROR, Severity.CRITICAL)


def pulse(
    run_id: int, curves: Sequence[Curve], kind: str, span: tuple[float, float]
) -> list[dict[str, Any]]:
    """One stretch an attempt: {attempt, x: edges on the axis, ms: the same as Unix times, counts:
    [errors, critical] a bucket}. Attempts without an error in `span` are left out.

    On a step axis a line lies where its attempt was when it was written. Two statements, however
    many attempts there are.
    """
    found = []
    by_attempt = {curve.attempt: curve for curve in curves}
    parts = {number: _window(curve, kind, span) for number, curve in by_attempt.items()}
    windows = {number: part for number, part in parts.items() if part is not None}
    for number, told in search.attempt_pulses(run_id, windows, BUCKETS):
        curve, counts = by_attempt[number], _loud(told.severities, told.counts)
        if not counts.any():
            continue
        ms = np.asarray(told.edges_ns, dtype=np.float64) / 1e6
        found.append(
            {
                "attempt": number,
                "x": (ms if kind == "time" else _steps(curve, ms)).tolist(),
                "ms": ms.tolist(),
                "counts": counts.tolist(),
            }
        )
    return found


def _window(curve: Curve, kind: str, span: tuple[float, float]) -> tuple[int, int] | None:
    """The times of the attempt that lie in the span; None if none do. A minute more at its end:
    what a process says as it dies comes after its last step."""
    first, last = int(curve.time_ns[0]), int(curve.time_ns[-1])
    if kind == "time":
        start, end = int(span[0] * 1e6), int(span[1] * 1e6)
    else:
        times = np.interp(span, np.asarray(curve.step), np.asarray(curve.time_ns, dtype=np.float64))
        start, end = int(times[0]), int(times[1])
        if span[1] < curve.step[0] or span[0] > curve.step[-1]:
            return None
    end = min(end, last) if end < last else last + 60_000_000_000
    start = max(start, first)
    return (start, end) if start < end else None


def _steps(curve: Curve, ms: NDArray[Any]) -> NDArray[Any]:
    """Steps at times; after its last step an attempt goes on a little, so that errors are seen."""
    times = np.asarray(curve.time_ns, dtype=np.float64) / 1e6
    steps = np.asarray(curve.step, dtype=np.float64)
    pace = (steps[-1] - steps[0]) / max(times[-1] - times[0], 1.0)
    found: NDArray[Any] = np.interp(ms, times, steps) + np.maximum(ms - times[-1], 0.0) * pace
    return found


def _loud(severities: Sequence[int], counts: NDArray[Any]) -> NDArray[Any]:
    """int[buckets, 2]: errors and critical lines."""
    found = np.zeros((len(counts), len(_LOUD)), np.int64)
    for at, severity in enumerate(severities):
        if severity in _LOUD:
            found[:, _LOUD.index(Severity(severity))] = counts[:, at]
    return found
