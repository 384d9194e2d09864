"""metrics.domain.downsample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.metrics.domain.downsample import draw_buckets, level_for, nonfinite
from apps.metrics.domain.tiers import from_points


def draw(value, points, first=0):
    step = first + np.arange(len(value), dtype=np.int64)
    return draw_buckets(from_points(step, step, np.asarray(value, dtype=float), 0), points)


@given(st.integers(0, 10**9), st.integers(0, 10**7), st.integers(1, 2_000))
def test_the_range_always_fits(first, length, points):
    level = level_for(first, first + length, points)
    assert ((first + length) >> level) - (first >> level) + 1 <= points


@given(st.integers(0, 5_000))
def test_a_shifted_window_has_the_same_inner_buckets(shift):
    value = np.random.default_rng(1).normal(size=20_000)
    whole, part = draw(value, 700), draw(value[shift:], 700, first=shift)
    inner = [(s, lo, hi) for s, lo, hi in zip(part.step, part.minimum, part.maximum, strict=True)]
    known = set(zip(whole.step, whole.minimum, whole.maximum, strict=True))

    assert part.level == whole.level
    assert set(inner[1:]) <= known


def test_few_points_are_drawn_as_they_are():
    found = draw([3.0, 1.0, 2.0], 3)
    assert (found.step.tolist(), found.last.tolist(), found.level) == ([0, 1, 2], [3, 1, 2], 0)


def test_sparse_steps_are_not_merged_while_they_fit():
    step = np.arange(900, dtype=np.int64) * 1_000
    assert len(draw_buckets(from_points(step, step, step * 1.0, 0), 900)) == 900


def test_an_outlier_of_one_row_survives():
    value = np.ones(100_000)
    value[54_321] = 9.0
    assert draw(value, 100).maximum.max() == 9.0


def test_values_that_are_no_numbers_are_listed_apart():
    value = np.array([1.0, np.nan, np.inf, 2.0, -np.inf])
    step = np.array([10, 9, 8, 7, 6], dtype=np.int64)
    assert np.isfinite(draw(value, 10).last).all()
    assert nonfinite(step, value) == [(6, "-Infinity"), (8, "Infinity"), (9, "NaN")]


@pytest.mark.parametrize("count", [999, 5_000])
def test_the_list_has_an_end(count):
    assert len(nonfinite(np.arange(count), np.full(count, np.nan))) == min(count, 1_000)
