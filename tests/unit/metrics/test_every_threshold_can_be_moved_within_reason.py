"""metrics.domain.thresholds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.metrics.domain.spikes import SpikePolicy
from apps.metrics.domain.threshold_words import ORDERED
from apps.metrics.domain.thresholds import checked, policy_with, thresholds

ALL = thresholds()


@pytest.mark.parametrize("slug", ALL)
def test_each_has_a_range_around_its_default_and_a_source(slug):
    one = ALL[slug]
    assert one.low <= one.default <= one.high
    assert one.low < one.high
    assert len(one.source) > 40
    assert one.help


def test_without_moved_ones_the_policy_is_the_default():
    assert policy_with({}) == SpikePolicy()
    assert checked({slug: one.default for slug, one in ALL.items()}) == {}


@pytest.mark.parametrize("slug", ALL)
def test_moving_one_leaves_all_others_alone(slug):
    one = ALL[slug]
    moved = one.low if one.low != one.default else one.high
    policy = policy_with({slug: int(moved) if one.whole else moved})
    *path, name = slug.split(".")
    owner = getattr(policy, path[0]) if path else policy
    assert getattr(owner, name) == moved
    back = policy_with({slug: one.default})
    assert back == SpikePolicy() != policy


@given(st.sampled_from(list(ALL)), st.floats(allow_nan=True, allow_infinity=True))
def test_what_is_taken_is_in_its_range_and_of_its_type(slug, value):
    one = ALL[slug]
    try:
        found = checked({slug: value})
    except AppError as error:
        assert error.where in {slug, *(low for low, _ in ORDERED)}
        return
    assert found in ({}, {slug: value})
    assert one.low <= value <= one.high
    assert isinstance(found.get(slug, one.default), int) == one.whole


@pytest.mark.parametrize(
    ("values", "where", "told"),
    [
        ({"up.mood": 3}, "values", '"up.mood" is no threshold'),
        ({"up.open_z": 0.1}, "up.open_z", "0.1 is out of its range"),
        ({"up.judge_row": 5.5}, "up.judge_row", "no whole number"),
        ({"up.open_z": "5"}, "up.open_z", "no number"),
        ({"min_rows": True}, "min_rows", "no number"),
        ({"up.open_z": float("nan")}, "up.open_z", "no number"),
        ({"gradient.page_ratio": 2.0}, "gradient.calm_ratio", "must not be above"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(values, where, told):
    with pytest.raises(AppError, match=told) as error:
        checked(values)
    assert error.value.where == where


def test_a_threshold_that_an_update_has_dropped_does_no_harm():
    assert policy_with({"gone.k": 3.0, "up.open_z": 7.0}).up.open_z == 7.0
