"""`bench spikes`: the loss detector over whole curves, row by row, and how right it is.

Without --data made-up curves with known faults and small real trainings; with --data a folder with
`labels.json` and CSV files: a step, and columns whose names are read as those of a run are; labels
as `workers/benches/spike_score.py` reads them. --json FILE writes the alarms:
{series: [{row, step, onset_step, kind, page}]}.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from apps.metrics.domain import roles
from apps.metrics.domain.spikes import SpikeDetector
from apps.metrics.domain.train_row import TrainRow
from workers.benches import loss_curves, spike_score
from workers.benches.report import BenchOptions, BenchReport
from workers.benches.spike_score import Alarm, Label
from workers.benches.trainings import cases

CHUNK_ROWS = 256
"""Rows between two stores of the state: the bench pays for them as the writer does."""
ROW_NS = 30_000_000_000
"""From one row to the next; files do not tell."""
TRAININGS = range(36)
"""Numbers of the trainings that are run: each fate twice. About a minute of CPU time."""
Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Series:
    """rows: numbered 0, 1, ... in file order, since steps may repeat. steps: as logged.
    names: role -> column."""

    rows: list[TrainRow]
    steps: list[int]
    label: Label
    names: dict[str, str]


def run(options: BenchOptions) -> BenchReport:
    """Rows per CPU second, precision, recall and false alarms per 10,000 rows."""
    series = _from_folder(options.data) if options.data else _made_up()
    started = time.process_time()
    alarms = {name: alarms_of(one) for name, one in series.items()}
    cpu_s = time.process_time() - started
    score = spike_score.score({n: (s.steps, s.label) for n, s in series.items()}, alarms)
    rows = sum(len(one.rows) for one in series.values())
    figures = {
        "series": len(series),
        "rows": rows,
        "rows_per_cpu_s": round(rows / cpu_s),
        **score.figures(),
    }
    table = [(name.replace("_", " "), str(value)) for name, value in figures.items()]
    predictions = _predictions(series, alarms)
    return BenchReport(("what", "value"), tuple(table), figures, details=predictions)


def alarms_of(series: Series) -> list[Alarm]:
    """The paging findings in the order in which they were raised, each once.

    Where the steps go backwards the job went on from a checkpoint: another attempt.
    """
    detector = SpikeDetector()
    seen: dict[str, Alarm] = {}
    for attempt, (first, last) in enumerate(pairwise(_starts(series.steps))):
        detector.start_attempt(attempt, series.names)
        for start in range(first, last, CHUNK_ROWS):
            for finding in detector.feed(series.rows[start : min(start + CHUNK_ROWS, last)]):
                if finding.page and finding.seen_step is not None:
                    alarm = Alarm(finding.seen_step, finding.onset_step, finding.kind)
                    seen.setdefault(finding.key, alarm)
            detector = SpikeDetector.load(detector.dump())
    return list(seen.values())


def _starts(steps: Sequence[int]) -> list[int]:
    """The rows at which an attempt starts, and the number of rows."""
    back = [row for row in range(1, len(steps)) if steps[row] < steps[row - 1]]
    return [0, *back, len(steps)]


def _predictions(
    series: Mapping[str, Series], alarms: Mapping[str, list[Alarm]]
) -> dict[str, list[dict[str, Any]]]:
    return {
        name: [
            {
                "row": alarm.row,
                "step": series[name].steps[alarm.row],
                "onset_step": None if alarm.onset is None else series[name].steps[alarm.onset],
                "kind": alarm.kind,
                "page": True,
            }
            for alarm in found
        ]
        for name, found in alarms.items()
    }


def _made_up() -> dict[str, Series]:
    found = {}
    for name, curve in loss_curves.family().items():
        event = {
            "onset_step": curve.onset,
            "recovery_step": curve.recovery,
            "severity": "page" if curve.pages else "info",
            "kind": name,
        }
        events = [] if curve.onset is None else [event]
        found[name] = series_of(curve.columns(), events)
    for number in TRAININGS:
        case = cases.case(number)
        found[case.name] = series_of(case.columns(), case.events)
    return found


def _from_folder(folder: Path) -> dict[str, Series]:
    labels = orjson.loads((folder / "labels.json").read_bytes())["series"]
    return {
        name: series_of(_read(folder / one["file"]), one["events"]) for name, one in labels.items()
    }


def _read(path: Path) -> dict[str, list[float | None]]:
    with path.open(newline="", encoding="utf-8") as handle:
        lines = list(csv.DictReader(handle))
    return {
        name: [_number(line.get(name)) for line in lines] for name in (lines[0] if lines else ())
    }


def series_of(columns: Mapping[str, Sequence[float | None]], events: Iterable[Event]) -> Series:
    """columns: name -> values; "step" is one of them, the others play the roles of their names."""
    steps = [round(step or 0) for step in columns["step"]]
    names = roles.guess(name for name in columns if name != "step").by_role()
    values = zip(*(columns[name] for name in names.values()), strict=True)
    rows = [
        TrainRow(at, at * ROW_NS, **dict(zip(names, row, strict=True)))
        for at, row in enumerate(values)
    ]
    return Series(rows, steps, Label(list(events)), names)


def _number(text: str | None) -> float | None:
    return float(text) if text else None
