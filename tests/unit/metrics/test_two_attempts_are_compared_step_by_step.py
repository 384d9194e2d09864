"""Curves of two attempts: common steps, the first difference, the largest one."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from apps.metrics.domain.comparison import compare

VALUES = st.floats(allow_nan=True, allow_infinity=True, width=64)
CURVES = st.dictionaries(st.integers(0, 60), VALUES, max_size=40)


def curve(points):
    steps = sorted(points)
    return np.array(steps, dtype=np.int64), np.array([points[s] for s in steps], dtype=np.float64)


def test_a_resumed_attempt_parts_from_the_old_one_where_the_data_order_changed():
    old = curve({s: 2.0 - s / 100 for s in range(100)})
    new = curve({s: 2.0 - s / 100 + (0.5 if s >= 60 else 0.0) for s in range(50, 120)})
    found = compare(old, new)
    assert (found.common, found.first_step, found.last_step) == (50, 50, 99)
    assert found.differs_at == 60
    assert found.largest.difference == 0.5
    assert math.isclose(found.mean_difference, 0.4)


def test_attempts_without_a_common_step_have_nothing_to_compare():
    found = compare(curve({1: 1.0}), curve({2: 1.0}))
    assert (found.common, found.differs_at, found.largest, found.samples) == (0, None, None, ())


def test_a_step_that_was_logged_twice_counts_with_its_later_value():
    twice = np.array([1, 2, 2, 3]), np.array([1.0, 5.0, 6.0, 1.0])
    found = compare(twice, curve({1: 1.0, 2: 6.0, 3: 1.0}))
    assert (found.common, found.differs_at) == (3, None)


def test_nan_on_both_sides_is_no_difference_but_on_one_side_it_is():
    both = compare(curve({1: math.nan}), curve({1: math.nan}))
    one = compare(curve({1: math.nan, 2: 1.0}), curve({1: 1.0, 2: 1.0}))
    assert (both.differs_at, both.largest) == (None, None)
    assert (one.differs_at, one.largest.step) == (1, 2)


@given(CURVES)
def test_a_curve_never_differs_from_itself(points):
    found = compare(curve(points), curve(points))
    assert (found.common, found.differs_at) == (len(points), None)


@given(CURVES, CURVES)
def test_swapping_the_sides_changes_only_the_sign(a, b):
    there, back = compare(curve(a), curve(b)), compare(curve(b), curve(a))
    assert (there.common, there.differs_at) == (back.common, back.differs_at)
    assert [p.step for p in there.samples] == [p.step for p in back.samples]
    assert {p.step for p in there.samples} <= set(a) & set(b)
