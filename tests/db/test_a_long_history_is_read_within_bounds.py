"""What a reader may ask of a long history: chosen exactly, never all in memory."""

import json

import pytest

from apps.core.errors import AppError
from apps.core.records import MetricRow
from apps.ingest.wandb import readback
from apps.ingest.writes import add_rows
from apps.metrics import store as metrics
from apps.runs import services as runs
from apps.runs import store as runs_store

STEPS = range(30)


@pytest.fixture
def run(db):
    """Losses of 30 steps, a second figure at every third, each with its runtime."""
    run_id = runs_store.ensure_run("r1")
    runs.settle_attempt(run_id, 0, 1)
    rows = [
        MetricRow(
            n,
            10**18 + n,
            {"loss": float(n), **({} if n % 3 else {"eval": 1.0})},
            extra={"r": n / 2},
        )
        for n in STEPS
    ]
    add_rows(run_id, 0, rows, source="test")
    return run_id


def steps(run, **spec):
    found = readback.sampled_objects(run, json.dumps({"keys": ["_step", "_runtime"], **spec}))
    return [(row["_step"], row.get("_runtime")) for row in found]


@pytest.mark.parametrize("keys", [["_step", "_runtime"], ["_step", "_runtime", "eval"]])
@pytest.mark.parametrize("samples", [1, 7, 100])
def test_the_same_rows_are_chosen_when_only_those_become_objects(run, monkeypatch, keys, samples):
    wanted = steps(run, keys=keys, samples=samples)
    monkeypatch.setattr(readback, "MAX_ROWS", 1)
    assert steps(run, keys=keys, samples=samples) == wanted
    assert all(runtime == step / 2 for step, runtime in wanted)


def test_a_page_with_more_rows_is_refused(run, monkeypatch):
    monkeypatch.setattr(readback, "MAX_ROWS", len(STEPS) - 1)
    with pytest.raises(AppError, match="ask for fewer steps"):
        readback.page(run, 0, 100)


def test_the_points_of_all_attempts_count_together(run, monkeypatch):
    runs_store.open_attempt(run, 1, 2)
    rows = [MetricRow(n, 2 * 10**18 + n, {"loss": 0.0}) for n in range(30, 60)]
    add_rows(run, 1, rows, source="test")
    monkeypatch.setattr(readback, "MAX_POINTS", 50)
    read = []
    monkeypatch.setattr(metrics, "read_rows", lambda *args: read.append(args))
    assert len(readback.sampled_lines(run, 100)) == 60
    assert read == []


@pytest.mark.parametrize(("samples", "rows"), [(-5, 1), (0, len(STEPS))])
def test_an_odd_number_of_samples_is_one_or_the_usual_one(run, samples, rows):
    assert len(steps(run, samples=samples)) == rows


def test_more_keys_than_a_person_has_are_refused(run):
    with pytest.raises(AppError, match="more than 5000 keys"):
        steps(run, keys=[str(n) for n in range(5_001)])
