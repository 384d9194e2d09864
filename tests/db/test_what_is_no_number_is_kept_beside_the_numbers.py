"""Extras of rows: stored once and whole, in few blocks, within bounds, found by step."""

import numpy as np
import pytest

from apps.core.grid import Grid
from apps.core.records import MetricRow
from apps.ingest import store
from apps.ingest.models import WandbExtra
from apps.ingest.wandb import extras_store
from apps.ingest.writes import add_rows
from apps.runs import store as runs

pytestmark = pytest.mark.django_db
T0_NS = 1_795_981_200_000_000_000


@pytest.fixture
def run():
    return runs.ensure_run("r")


def rows(steps, **extra):
    return [
        MetricRow(step, T0_NS + step, {"loss": 1.0}, extra={"r": step / 3, **extra})
        for step in steps
    ]


def add(run, made):
    written = add_rows(run, None, made, source="test")
    store.count(run, written.counts)
    return written


def test_extras_come_back_by_step_and_time(run):
    add(run, rows(range(3), o={"text": "x", "nested": [None, {"a": 1}]}, d=["e"], w=["nested"]))
    found = extras_store.read(run, 0, 1, 1)
    assert found == {
        (1, T0_NS + 1): {
            "r": 1 / 3,
            "o": {"text": "x", "nested": [None, {"a": 1}]},
            "d": ["e"],
            "w": ["nested"],
        }
    }
    assert extras_store.names(run) == ["nested", "text"]


def test_rows_without_an_extra_take_no_place(run):
    add(run, [MetricRow(1, T0_NS, {"loss": 1.0})])
    assert not WandbExtra.objects.exists()


def test_a_live_run_fills_blocks_little_by_little(run):
    for step in range(600):
        add(run, rows([step], o={"text": str(step)}))
    assert WandbExtra.objects.count() <= 4
    found = extras_store.read(run, 0, None, None)
    assert [extra["o"]["text"] for extra in found.values()] == [str(step) for step in range(600)]


def test_many_rows_become_blocks_that_are_found_by_step(run):
    add(run, rows(range(3_000)))
    assert WandbExtra.objects.count() == 3
    assert extras_store.stored(run, 0, 0, 10) < extras_store.stored(run, 0, None, None)
    assert [step for step, _ in extras_store.read(run, 0, 2_000, 2_002)] == [2_000, 2_001, 2_002]


@pytest.mark.parametrize("count", [3, 1_500])
def test_a_grid_is_kept_like_its_rows(run, count):
    steps, at_ns = range(count), [T0_NS + step for step in range(count)]
    cells, runtime = np.ones((count, 1)), np.arange(count) / 3
    for attempt, beside in enumerate([{"r": runtime}, {"r": runtime, "x": -runtime}, {}]):
        grid = Grid(("loss",), cells, steps, at_ns, beside)
        extras_store.add(run, attempt, grid)
        found = extras_store.read(run, attempt, None, None)
        assert found == {(row.step, row.time_ns): row.extra for row in grid if row.extra}


def test_at_one_moment_the_later_arrival_counts(run):
    add(run, rows([1], o={"text": "old"}))
    add(run, rows([1], o={"text": "new"}))
    ((_, extra),) = extras_store.read(run, 0, None, None).items()
    assert extra["o"] == {"text": "new"}


def test_the_counter_says_how_many_bytes_a_run_has(run):
    for step in range(20):
        add(run, rows([step], o={"text": "x" * step}))
    total, _ = extras_store.stored(run, 0, None, None)
    assert store.counters(run)["extra_bytes"] == total


def test_beyond_its_bytes_a_run_keeps_numbers_only_and_says_so(run, monkeypatch):
    monkeypatch.setattr(extras_store, "MAX_RUN_BYTES", 1)
    add(run, rows([1], o={"text": "x"}))
    add(run, rows([2], o={"text": "y", "gone": None, "flag": True}))
    counters = store.counters(run)
    assert (counters["skipped: str"], counters["skipped: null"]) == (1, 1)
    assert "skipped: bool" not in counters
    assert counters["points"] == 2
    assert [step for step, _ in extras_store.read(run, 0, None, None)] == [1]


def test_extras_go_to_the_attempt_of_their_row(run):
    later = [MetricRow(0, T0_NS + 10**12, {"loss": 2.0}, extra={"r": 5.0})]
    add(run, [*rows(range(5)), *later])
    assert len(extras_store.read(run, 0, None, None)) == 5
    assert list(extras_store.read(run, 1, None, None).values()) == [{"r": 5.0}]
