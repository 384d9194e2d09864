"""metrics.store: write, read at full resolution, read in buckets."""

import math

import numpy as np
import pytest

from apps.core.records import MetricRow
from apps.metrics import services, store
from apps.metrics.store import SeriesQuery
from tests.metric_samples import T0_NS, S, rows_of

pytestmark = pytest.mark.django_db
NAN, INF = math.nan, math.inf
RUN = 41


def write(rows, attempt=0, run=RUN):
    return store.write_rows(run, attempt, rows, source="test")


def values(key="train/loss", attempt=0):
    step, _, value = store.read_rows(RUN, attempt, [key])[key]
    return list(zip(step.tolist(), value.tolist(), strict=True))


@pytest.fixture(params=["hot", "cold", "both"])
def compacted(request):
    """Compaction at the moment the name says; nothing a reader sees may depend on it."""
    moments = {"hot": (), "cold": ("late",), "both": ("early",)}[request.param]

    def at(moment):
        while moment in moments and store.compact_once(RUN, everything=True):
            pass

    return at


def test_ieee_values_come_back_bit_for_bit(compacted):
    odd = [1e308, -0.0, 5e-324, NAN, INF, -INF, 0.1, float(np.float32(0.1))]
    done = write(rows_of(odd))
    compacted("late")

    _, _, found = store.read_rows(RUN, 0, ["train/loss"])["train/loss"]
    assert found.view(np.uint64).tolist() == np.array(odd).view(np.uint64).tolist()
    assert (done.points, done.nonfinite, done.first_step, done.last_step) == (8, 3, 0, 7)


def test_rows_out_of_order_are_read_by_step_and_the_later_arrival_wins(compacted):
    write(rows_of([5.0, 6.0], first_step=5))
    compacted("early")
    done = write([*rows_of([7.0], first_step=6), *rows_of([1.0, 2.0], first_step=1)])
    compacted("late")

    assert values() == [(1, 1.0), (2, 2.0), (5, 5.0), (6, 6.0), (6, 7.0)]
    (window,) = store.read_series(SeriesQuery(RUN, ("train/loss",)))
    assert (window.step, window.last) == ([1, 2, 5, 6], [1.0, 2.0, 5.0, 7.0])
    assert (window.min[-1], window.max[-1], window.count[-1]) == (6.0, 7.0, 2)
    assert (done.backward_steps, done.duplicate_steps) == (2, 0)
    assert store.latest(RUN, 0, ["train/loss"]) == {"train/loss": (6, T0_NS, 7.0)}


def test_values_that_are_no_numbers_come_as_a_list(compacted):
    write(rows_of([1.0, NAN, 2.0, INF]))
    compacted("early")
    write(rows_of([-INF, 3.0], first_step=4))
    compacted("late")
    (window,) = store.read_series(SeriesQuery(RUN, ("train/loss",)))

    assert (window.step, window.last) == ([0, 2, 5], [1.0, 2.0, 3.0])
    assert window.nonfinite == [(1, "NaN"), (3, "Infinity"), (4, "-Infinity")]
    assert (window.points_stored, window.points_drawn, window.bucket_steps) == (6, 3, 1)


def test_names_that_are_logged_now_and_then_keep_their_gaps(compacted):
    rows = [
        MetricRow(
            step, T0_NS + step * S, {"a": 1.0 * step} | ({"b": -step} if step % 10 == 0 else {})
        )
        for step in range(100)
    ]
    write(rows[:50])
    compacted("early")
    write(rows[50:])
    compacted("late")

    assert values("b") == [(step, float(-step)) for step in range(0, 100, 10)]
    assert len(values("a")) == 100
    assert store.latest(RUN, 0, ["a", "b"])["b"][0] == 90


def test_attempts_and_runs_are_kept_apart(compacted):
    write(rows_of([1.0, 2.0]))
    write(rows_of([9.0], first_step=1), attempt=1)
    write(rows_of([7.0]), run=RUN + 1)
    compacted("late")
    windows = store.read_series(SeriesQuery(RUN, ("train/loss",)))

    assert [(w.attempt, w.last) for w in windows] == [(0, [1.0, 2.0]), (1, [9.0])]
    assert [w.attempt for w in store.read_series(SeriesQuery(RUN, ("train/loss",), attempt=1))] == [
        1
    ]


def test_a_range_of_steps_includes_both_ends(compacted):
    write(rows_of(range(100)))
    compacted("early")
    write(rows_of(range(100, 200), first_step=100))
    compacted("late")

    ((step, *_),) = store.read_rows(RUN, 0, ["train/loss"], 95, 104).values()
    (window,) = store.read_series(SeriesQuery(RUN, ("train/loss",), from_step=95, to_step=104))
    assert step.tolist() == window.step == list(range(95, 105))


def test_many_ranks_are_one_series_with_a_window_each(compacted):
    rows = [
        row for rank in range(8) for row in rows_of([rank, rank + 0.5], key="rank/loss", rank=rank)
    ]
    write(rows)
    compacted("late")
    windows = store.read_series(SeriesQuery(RUN, ("rank/loss",)))

    assert [(w.rank, w.last) for w in windows] == [(r, [r, r + 0.5]) for r in range(8)]
    (only,) = store.read_series(SeriesQuery(RUN, ("rank/loss",), rank=3))
    assert only.last == [3.0, 3.5]
    points = store.read_rank_rows(RUN, 0, "rank/loss", from_step=1)
    assert sorted(points.rank.tolist()) == list(range(8))
    assert store.read_rows(RUN, 0, ["rank/loss"]) == {}


def test_the_same_name_of_job_and_ranks_are_two_series(compacted):
    write([*rows_of([1.0], key="loss"), *rows_of([2.0], key="loss", rank=0)])
    compacted("late")

    assert [(info.key, info.ranks, info.last_step) for info in store.keys(RUN)] == [
        ("loss", False, 0), ("loss", True, 0),
    ]  # fmt: skip
    assert [w.rank for w in store.read_series(SeriesQuery(RUN, ("loss",)))] == [None, 0]


def test_names_that_postgres_refuses_are_stored_readably():
    write([MetricRow(1, T0_NS, {"a\0b": 1.0, "c\ud800": 2.0})])
    assert [info.key for info in store.keys(RUN)] == ["a\ufffdb", "c?"]


def test_nothing_is_nothing():
    assert write([]).points == 0
    assert store.read_series(SeriesQuery(RUN, ("x",))) == []
    assert (store.latest(RUN, 0, ["x"]), store.keys(RUN)) == ({}, [])
    assert services.compact(RUN) == 0


def test_a_batch_of_known_names_costs_few_statements(django_assert_num_queries):
    write(rows_of([1.0]))
    with django_assert_num_queries(3):
        write(rows_of([2.0], first_step=1))
    with django_assert_num_queries(3):
        store.read_rows(RUN, 0, ["train/loss"])
