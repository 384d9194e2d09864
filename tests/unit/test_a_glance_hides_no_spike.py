"""metrics.domain.glance and what else a line of the run list says, from values alone."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.dashboard.templatetags.lastgood import short
from apps.metrics.domain.glance import SPAN_NS, Glance, since_step, spark, usual
from apps.runs.domain.target import target_step

FINITE = st.floats(-1e6, 1e6)
BUCKETS = st.lists(st.tuples(FINITE, FINITE, FINITE).map(sorted), min_size=1, max_size=60)


@given(BUCKETS)
def test_a_spike_is_on_the_curve_and_every_value_is_of_its_bucket(buckets):
    low, last, high = zip(*buckets, strict=True)
    drawn = spark(low, high, last)
    assert max(drawn) == max(high) or max(high) <= max(last)
    assert all(value in bucket for value, bucket in zip(drawn, buckets, strict=True))


def test_a_spike_of_one_step_is_drawn_where_the_bucket_ended_low():
    assert spark([1, 1, 1], [1.1, 9.0, 1.1], [1.0, 1.05, 1.1]) == (1.0, 9.0, 1.1)


def test_no_bucket_is_no_curve():
    assert (spark([], [], []), since_step([], []), usual([])) == ((), None, None)


def test_only_the_last_day_counts():
    times = [0, SPAN_NS, SPAN_NS + 10, 2 * SPAN_NS]
    assert since_step([1, 2, 3, 4], times) == 2


@pytest.mark.parametrize(
    ("now", "usual_s", "change"),
    [
        (90.0, 100.0, -0.1),
        (None, 100.0, None),
        (90.0, 0.0, None),
        (math.nan, 100.0, None),
        (math.inf, 100.0, None),
        (1e300, 1e-300, None),
    ],
)
def test_speed_is_compared_with_what_is_usual(now, usual_s, change):
    found = Glance(0, tokens_s=now, usual_tokens_s=usual_s).tokens_change
    assert found == pytest.approx(change)


@pytest.mark.parametrize(
    ("value", "text"),
    [(41_200.0, "41.2k"), (999_960.0, "1M"), (-2.5e9, "-2.5G"), (12.0, "12"), (math.inf, "+Inf")],
)
def test_large_numbers_are_said_in_three_digits(value, text):
    assert short(value) == text


@pytest.mark.parametrize(
    ("config", "target"),
    [
        ({"max_steps": 100}, 100),
        ({"train_iters": 5e5}, 500_000),
        ({"max_steps": -1, "total_steps": 7}, 7),
        ({"max_steps": True}, None),
        ({"max_steps": float("nan")}, None),
        ({"max_steps": "100"}, None),
        ({}, None),
    ],
)
def test_the_target_is_what_the_configuration_says(config, target):
    assert target_step(config) == target
