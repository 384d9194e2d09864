"""Series -> rows: nothing lost, nothing doubled, every bit kept."""

import json
import math
import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.wandb import history

VALUES = st.dictionaries(st.sampled_from("abcd"), st.floats(), min_size=1)
MOMENTS = st.dictionaries(
    st.tuples(st.integers(0, 50), st.integers(0, 2**60)), VALUES, min_size=1, max_size=20
)


def series_of(moments):
    points = {}
    for (step, time_ns), values in sorted(moments.items()):
        for name, value in values.items():
            points.setdefault(name, []).append((step, time_ns, value))
    return {name: history.arrays(*zip(*found, strict=True)) for name, found in points.items()}


def bits(values):
    return {n: struct.pack("<d", float(v)) if v == v else b"nan" for n, v in values.items()}


@given(MOMENTS)
def test_every_value_comes_back_in_the_row_of_its_moment(moments):
    rows = list(history.rows(history.table(series_of(moments)), {}))
    assert [(row.step, row.time_ns) for row in rows] == sorted(moments)
    for row in rows:
        logged = moments[row.step, row.time_ns]
        assert bits(row.values) == bits(logged)


@given(MOMENTS)
def test_a_line_is_json_that_the_client_reads(moments):
    for row in history.rows(history.table(series_of(moments)), {}):
        found = json.loads(history.line(row))
        assert found.pop("_step") == row.step
        assert round(found.pop("_timestamp") * 1e9) >= 0
        assert bits(found) == bits(row.values)


@given(MOMENTS, st.sets(st.sampled_from("abcde")))
def test_only_rows_with_all_keys_hold_them(moments, names):
    table = history.table(series_of(moments))
    kept = [step for _, (step, _) in history.holding(table, {}, names)]
    wanted = [step for (step, _), values in sorted(moments.items()) if names <= set(values)]
    assert kept == wanted


@given(st.integers(0, 10_000), st.integers(1, 500))
def test_samples_are_spread_from_the_first_to_the_last(count, most):
    chosen = history.evenly(count, most)
    assert len(chosen) == min(count, most)
    assert chosen == sorted(set(chosen))
    if count and most > 1:
        assert (chosen[0], chosen[-1]) == (0, count - 1)


@given(st.floats(1, 9e9))
def test_a_time_gives_back_the_double_it_came_from(seconds):
    time_ns = int(seconds) * 10**9 + round((seconds - int(seconds)) * 1e9)
    if seconds > 2**24:
        assert history.seconds(time_ns) == seconds
    assert math.isclose(history.seconds(time_ns), seconds, abs_tol=1e-9)


def test_at_one_moment_the_later_arrival_counts():
    twice = np.array([1, 1]), np.array([5, 5]), np.array([1.0, 2.0])
    (row,) = history.rows(history.table({"a": twice}), {})
    assert row.values == {"a": 2}


def test_without_points_there_are_no_rows():
    assert list(history.rows(history.table({}), {})) == []
