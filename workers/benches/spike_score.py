"""How right paging alarms are, against labelled curves; rows count logged rows.

- An incident is a label of severity page or warn that is not `uncertain`, or one with a
  `fault_step`. It is hit by an alarm from 10 rows before its onset (with a fault_step: from there)
  to 100 rows after it or to its recovery; to 1,000 rows after it if nothing recovers.
- Alarms up to 200 rows behind an incident are not false. From 10 rows before a planned level
  shift, an uncertain label, an artefact or a silent corruption on, alarms are forgiven.
- All others are false; alarms within 50 rows of each other are one episode.
- Series of fewer than 150 rows are not scored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MIN_ROWS = 150
COOL_DOWN_ROWS = 50


@dataclass(frozen=True, slots=True)
class Alarm:
    """row: where it fired. onset: the row it places the start at."""

    row: int
    onset: int | None
    kind: str


@dataclass(frozen=True, slots=True)
class Label:
    """events: onset_step, recovery_step, fault_step, severity, kind, uncertain."""

    events: Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class Score:
    """Counts over all series."""

    rows: int = 0
    incidents: int = 0
    hits: int = 0
    false: int = 0
    delays: list[int] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """The score as numbers; None where nothing was there to score."""
        delays = sorted(self.delays)
        alarms = self.hits + self.false
        return {
            "scored_rows": self.rows,
            "incidents": self.incidents,
            "precision": round(self.hits / alarms, 4) if alarms else None,
            "recall": round(self.hits / self.incidents, 4) if self.incidents else None,
            "false_per_10k": round(1e4 * self.false / self.rows, 3) if self.rows else None,
            "delay_median_rows": delays[len(delays) // 2] if delays else None,
        }


def score(
    series: Mapping[str, tuple[Sequence[int], Label]], alarms: Mapping[str, Sequence[Alarm]]
) -> Score:
    """series: name -> (steps of its rows, labels)."""
    total = Score()
    for name, (steps, label) in series.items():
        if len(steps) >= MIN_ROWS:
            _score_one(total, steps, label, sorted(alarm.row for alarm in alarms.get(name, ())))
    return total


def _score_one(total: Score, steps: Sequence[int], label: Label, rows: list[int]) -> None:
    first_row: dict[int, int] = {}
    for row, step in enumerate(steps):
        first_row.setdefault(step, row)
    total.rows += len(steps)
    free: set[int] = set()
    for event in label.events:
        onset = _row_at(first_row, event["onset_step"])
        if onset is None:
            continue
        if _is_incident(event):
            low, high, end = _window(event, onset, first_row)
            inside = [row for row in rows if low <= row <= high]
            total.incidents += 1
            total.hits += bool(inside)
            total.delays += [inside[0] - onset] if inside else []
            free.update(row for row in rows if low <= row <= end)
        elif _is_forgiven(event):
            free.update(row for row in rows if row >= onset - 10)
    last = -math.inf
    for row in (row for row in rows if row not in free):
        total.false += row - last > COOL_DOWN_ROWS
        last = row


def _row_at(first_row: Mapping[int, int], step: int) -> int | None:
    return min((row for at, row in first_row.items() if at >= step), default=None)


def _is_incident(event: Mapping[str, Any]) -> bool:
    loud = event["severity"] in ("page", "warn") and not event.get("uncertain")
    return loud or bool(event.get("fault_step"))


def _is_forgiven(event: Mapping[str, Any]) -> bool:
    planned = event["severity"] == "info" and event["kind"] == "level-shift"
    return planned or bool(event.get("uncertain")) or event["severity"] in ("silent", "ignore")


def _window(
    event: Mapping[str, Any], onset: int, first_row: Mapping[int, int]
) -> tuple[int, float, float]:
    """(first row that hits, last row that hits, last row that is not false)."""
    fault = event.get("fault_step")
    low = first_row.get(fault, onset) if fault else onset - 10
    recovery = first_row.get(event["recovery_step"]) if event.get("recovery_step") else None
    if recovery is None:
        return low, onset + 1_000, math.inf
    high = max(onset + 100, recovery)
    return low, high, high + 200
