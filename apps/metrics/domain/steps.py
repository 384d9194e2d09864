"""Rows at the steps that one of their own series tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apps.core.grid import Grid, series_of, steps_of
from apps.core.records import MetricRow

LAST_STEP = 2**62


def by_series(rows: Sequence[MetricRow], series: str) -> Sequence[MetricRow]:
    """The rows with the value of `series` as their step.

    A row without a usable value (a whole number from 0 on) stands at the step of the row before it;
    before the first usable one a row keeps its own.
    """
    steps, newest = list(steps_of(rows)), None
    for at, told in enumerate(series_of(rows, series)):
        if told is not None and 0 <= told <= LAST_STEP and told == int(told):
            newest = int(told)
        steps[at] = steps[at] if newest is None else newest
    if isinstance(rows, Grid):
        return rows.at_steps(steps)
    return [replace(row, step=step) for row, step in zip(rows, steps, strict=True)]
