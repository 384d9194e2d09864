"""`bench spikes`: the loss detector over whole curves, row by row, and how right it is.

Without --data made-up curves with known faults; with --data a folder with `labels.json` and CSV
files (columns step, loss, grad_norm, lr, loss_scale; labels as `workers/benches/spike_score.py`
reads them). --out FILE writes the alarms as JSON: {series: [{row, step, onset_step, kind, page}]}.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from apps.metrics.domain.spikes import SpikeDetector
from apps.metrics.domain.train_row import TrainRow
from workers.benches import loss_curves, spike_score
from workers.benches.report import BenchOptions, BenchReport
from workers.benches.spike_score import Alarm, Label

CHUNK_ROWS = 256
"""Rows between two stores of the state: the bench pays for them as the writer does."""


@dataclass(frozen=True, slots=True)
class _Series:
    """rows: numbered 0, 1, ... in file order, since steps may repeat. steps: as logged."""

    rows: list[TrainRow]
    steps: list[int]
    label: Label


def run(options: BenchOptions) -> BenchReport:
    """Rows per CPU second, precision, recall and false alarms per 10,000 rows."""
    series = _from_folder(options.data) if options.data else _made_up()
    started = time.process_time()
    alarms = {name: _alarms(one) for name, one in series.items()}
    cpu_s = time.process_time() - started
    if options.out:
        options.out.write_bytes(orjson.dumps(_predictions(series, alarms)))
    score = spike_score.score({n: (s.steps, s.label) for n, s in series.items()}, alarms)
    rows = sum(len(one.rows) for one in series.values())
    figures = {
        "series": len(series),
        "rows": rows,
        "rows_per_cpu_s": round(rows / cpu_s),
        **score.figures(),
    }
    table = [(name.replace("_", " "), str(value)) for name, value in figures.items()]
    return BenchReport(("what", "value"), tuple(table), figures)


def _alarms(series: _Series) -> list[Alarm]:
    """The paging findings in the order in which they were raised, each once."""
    detector = SpikeDetector()
    seen: dict[str, Alarm] = {}
    detector.start_attempt(0, {"loss": "loss", "grad_norm": "grad norm", "lr": "learning rate"})
    for start in range(0, len(series.rows), CHUNK_ROWS):
        for finding in detector.feed(series.rows[start : start + CHUNK_ROWS]):
            if finding.page and finding.seen_step is not None:
                alarm = Alarm(finding.seen_step, finding.onset_step, finding.kind)
                seen.setdefault(finding.key, alarm)
        detector = SpikeDetector.load(detector.dump())
    return list(seen.values())


def _predictions(
    series: Mapping[str, _Series], alarms: Mapping[str, list[Alarm]]
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


def _made_up() -> dict[str, _Series]:
    found = {}
    for name, curve in loss_curves.family().items():
        columns = zip(curve.loss.tolist(), curve.grad_norm.tolist(), curve.lr.tolist(), strict=True)
        rows = [TrainRow(at, at, *values) for at, values in enumerate(columns)]
        event = {
            "onset_step": curve.onset,
            "recovery_step": curve.recovery,
            "severity": "page" if curve.pages else "info",
            "kind": name,
        }
        label = Label([] if curve.onset is None else [event])
        found[name] = _Series(rows, list(range(len(curve))), label)
    return found


def _from_folder(folder: Path) -> dict[str, _Series]:
    labels = orjson.loads((folder / "labels.json").read_bytes())["series"]
    return {name: _read(folder / one["file"], one["events"]) for name, one in labels.items()}


def _read(path: Path, events: Iterable[Mapping[str, Any]]) -> _Series:
    with path.open(newline="", encoding="utf-8") as handle:
        lines = list(csv.DictReader(handle))
    rows = [
        TrainRow(at, at, *(_number(line.get(name)) for name in _COLUMNS))
        for at, line in enumerate(lines)
    ]
    steps = [round(float(line["step"])) for line in lines]
    return _Series(rows, steps, Label(list(events)))


_COLUMNS = ("loss", "grad_norm", "lr", "loss_scale")


def _number(text: str | None) -> float | None:
    return float(text) if text else None
