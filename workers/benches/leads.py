"""How far the statistics of the model are ahead of the loss, on labelled runs that log them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from apps.metrics.domain import bank, demands, trends
from apps.metrics.domain.bank import BankPolicy, Rows
from apps.metrics.domain.blocks import Floats
from apps.metrics.domain.demands import Watched
from apps.metrics.domain.layer_keys import recogniser
from apps.metrics.domain.spikes import SpikeDetector
from apps.metrics.domain.train_row import TrainRow
from apps.metrics.domain.trends import Episode, Mark, TrendPolicy, TrendState

_CHUNK_ROWS = 64
_LOSS = {"loss": "loss", "grad_norm": "grad_norm", "lr": "lr"}


@dataclass(frozen=True, slots=True)
class Told:
    """An episode: where the first series left its band, where that was told, its words."""

    since: int
    step: int
    words: str
    moved: int


@dataclass(frozen=True, slots=True)
class Judged:
    """One run. points: of statistics of the model. alarm: (onset, step) of the first page of the
    loss detector. label: the step at which the loss went wrong, by its label; None if it did not.
    """

    points: int
    told: tuple[Told, ...]
    alarm: tuple[int, int] | None
    label: int | None


def of_folder(folder: Path) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """(lines for people, figures) of the runs of a folder that log statistics of the model."""
    labels = orjson.loads((folder / "labels.json").read_bytes())["series"]
    found: dict[str, Judged] = {}
    for name, one in labels.items():
        columns = read(folder / one["file"])
        if any(_watched(key) for key in columns):
            onset = [event["onset_step"] for event in one["events"]]
            found[name] = judge(columns, min(onset, default=None))
    lines = [(name, _line(one)) for name, one in sorted(found.items())]
    return lines, {"leads": {name: _figures(one) for name, one in found.items()}}


def read(path: Path) -> dict[str, Floats]:
    """column -> float64[rows] of a CSV file; NaN where a cell is empty."""
    with path.open(newline="", encoding="utf-8") as handle:
        lines = list(csv.DictReader(handle))
    names = list(lines[0]) if lines else []
    return {name: np.array([float(line[name] or "nan") for line in lines]) for name in names}


def judge(columns: Mapping[str, Floats], label: int | None = None) -> Judged:
    """Both detectors over the rows of one run, a piece at a time."""
    told, points = layers(columns)
    return Judged(points, told, _alarm(columns), label)


def layers(columns: Mapping[str, Floats]) -> tuple[tuple[Told, ...], int]:
    """The episodes of its statistics, and how many values they are."""
    known = {name: one for name in columns if (one := _watched(name)) is not None}
    values = np.stack([columns[name] for name in known], axis=1)
    step = columns["step"].astype(np.int64)
    rows = Rows(step, step, values, ~np.isnan(values))
    state = bank.of([one.demand for one in known.values()])
    trend = TrendState(keys=list(range(len(known))))
    words, told = [one.words for one in known.values()], dict[int, Told]()

    def tell(episode: Episode, marks: list[Mark]) -> None:
        first, seen = trends.first_of(marks), told.get(episode.key_step)
        step = episode.seen_step if seen is None else seen.step
        told[episode.key_step] = Told(first.since_step, step, words[first.key_id], len(marks))

    for start in range(0, len(step), _CHUNK_ROWS):
        events = bank.feed(state, rows.part(start, start + _CHUNK_ROWS), BankPolicy())
        trends.take(trend, events, tell, TrendPolicy())
    return tuple(told.values()), int(np.count_nonzero(rows.shown))


def _watched(name: str) -> Watched | None:
    return demands.watched(name, recogniser())


def _alarm(columns: Mapping[str, Floats]) -> tuple[int, int] | None:
    detector = SpikeDetector()
    detector.start_attempt(0, _LOSS)
    cells = [columns["step"], *(columns.get(name, columns["step"] * np.nan) for name in _LOSS)]
    for step, loss, grad_norm, lr in zip(*(cell.tolist() for cell in cells), strict=True):
        for finding in detector.feed([TrainRow(int(step), int(step), loss, grad_norm, lr)]):
            if finding.page and finding.onset_step is not None:
                return finding.onset_step, int(step)
    return None


def _line(one: Judged) -> str:
    if not one.told:
        return f"nothing told of {one.points:,} values"
    first = one.told[0]
    text = f"{first.words} since {first.since}, told at {first.step}; {first.moved} moved"
    loss = "the loss is never told" if one.alarm is None else f"loss told at {one.alarm[1]}"
    label = "" if one.label is None else f"; label {one.label}"
    return f"{text}; {loss}{label}; {len(one.told)} episodes"


def _figures(one: Judged) -> dict[str, Any]:
    first = one.told[0] if one.told else None
    return {
        "values": one.points,
        "episodes": len(one.told),
        "first": None if first is None else first.words,
        "since_step": None if first is None else first.since,
        "told_step": None if first is None else first.step,
        "loss_onset_step": None if one.alarm is None else one.alarm[0],
        "loss_told_step": None if one.alarm is None else one.alarm[1],
        "label_step": one.label,
        "lead_steps": None if first is None or one.alarm is None else one.alarm[1] - first.step,
    }
