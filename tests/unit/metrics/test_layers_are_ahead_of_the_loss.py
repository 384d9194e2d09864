"""The leads of four real trainings with per-layer statistics (tests/samples/own_runs)."""

import csv
import lzma
from pathlib import Path

import numpy as np
import pytest

from workers.benches import leads

SAMPLES = Path(__file__).parents[2] / "samples" / "own_runs"


def judged(name):
    lines = lzma.decompress((SAMPLES / f"{name}.csv.xz").read_bytes()).decode().splitlines()
    rows = list(csv.DictReader(lines))
    columns = {key: np.array([float(row[key] or "nan") for row in rows]) for key in rows[0]}
    return leads.judge(columns)


def test_a_slow_ramp_is_told_a_hundred_steps_before_the_loss_tells_it():
    found = judged("slow_lr_ramp")
    (told,) = found.told
    assert (told.words, told.since, told.step) == ("update norm", 607, 621)
    assert found.alarm[1] - told.step > 100
    assert told.moved >= 4


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [("sdc_head_x256", "weight norm", 704), ("optimizer_state_lost", "update norm", 712)],
)
def test_what_the_loss_never_shows_is_told_within_a_dozen_steps(name, words, told):
    found = judged(name)
    assert [(t.words, t.since, t.step, t.moved) for t in found.told] == [(words, 701, told, 1)]
    assert found.alarm is None


def test_nothing_is_told_of_a_healthy_run():
    found = judged("quiet")
    assert (found.told, found.alarm, found.points) == ((), None, 9_000)
