"""Rows at the steps that one of their own series tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apps.core.records import MetricRow

LAST_STEP = 2**62


def by_series(rows: Sequence[MetricRow], series: str) -> list[MetricRow]:
    """The rows with the value of `series` as their step.

    A row without a usable value (a whole number from 0 on) stands at the step of the row before it;
    before the first usable one a row keeps its own.
    """
    found, newest = [], None
    for row in rows:
        told = row.values.get(series)
        if told is not None and 0 <= told <= LAST_STEP and told == int(told):
            newest = int(told)
        found.append(row if newest is None else replace(row, step=newest))
    return found
