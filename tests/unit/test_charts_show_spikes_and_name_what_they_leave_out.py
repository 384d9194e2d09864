"""Curves: nothing vanishes silently between the stored points and the plot."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.dashboard import curves as cv


def curve(values, *, attempt=0, nonfinite=(), stored=None, bucket=1, low=None, high=None):
    steps = list(range(len(values)))
    return cv.Curve(
        attempt=attempt,
        step=steps,
        time_ns=[1_000_000_000 * s for s in steps],
        low=low or values,
        high=high or values,
        last=values,
        nonfinite=nonfinite,
        stored=stored or len(values),
        drawn=len(values),
        bucket_steps=bucket,
    )


def test_the_abandoned_piece_starts_where_the_kept_one_ends():
    kept, old = cv.pieces(curve([1.0, 2.0, 3.0, 4.0]), 2, "step")
    assert (kept.kept, kept.x, old.kept, old.x) == (True, [0, 1], False, [1, 2, 3])


def test_an_attempt_given_up_as_a_whole_is_only_abandoned():
    (only,) = cv.pieces(curve([1.0, 2.0]), 0, "step")
    assert (only.kept, only.x) == (False, [0, 1])


def test_a_one_step_spike_inside_a_bucket_gets_a_whisker():
    low, high = [1.0] * 50, [1.1] * 50
    high[20] = 9.0
    (piece,) = cv.pieces(curve([1.05] * 50, low=low, high=high), None, "step")
    assert cv.whiskers(piece) == [(20.0, 1.0, 9.0)]


def test_one_absurd_value_is_clipped_and_counted():
    found = cv.value_range([1.0 + i / 100 for i in range(200)] + [1e308])
    assert found.high < 10
    assert found.clipped == 1


def test_an_explosion_is_not_clipped():
    found = cv.value_range([1.0 + (i % 7) / 100 for i in range(900)] + [3.5] * 100)
    assert found.high > 3.5
    assert found.clipped == 0


def test_the_high_loss_of_the_first_steps_does_not_flatten_the_rest():
    values = [10.0, 8.0, 6.0] + [1.0] * 97
    cut = cv.pieces(curve(values), None, "step")
    assert max(cv.warmed_up(cut, 0, 100)) == 1.0


def test_a_view_that_starts_later_shows_everything_it_has():
    cut = cv.pieces(curve([5.0, 4.0]), None, "step")
    assert cv.warmed_up(cut, 90, 100) == [5.0, 4.0, 5.0, 4.0]


def test_without_finite_values_there_is_no_range():
    assert cv.value_range([math.nan, math.inf]) is None


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=64), max_size=40))
def test_every_range_is_finite_and_ascending(values):
    found = cv.value_range([v for v in values if abs(v) < 1e300])
    assert found is None or (math.isfinite(found.low) and found.low < found.high)


@given(st.integers(0, 10**7), st.integers(1, 10**7), st.integers(2, 12))
def test_ticks_lie_inside_and_are_not_too_many(start, width, count):
    found = cv.ticks("step", start, start + width, count)
    assert all(start <= tick <= start + width for tick in found)
    assert len(found) <= count + 1


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (curve([1.0]), "1 of 1 points · no NaN"),
        (
            curve([1.0, 2.0], bucket=4, stored=8, nonfinite=[(1, "NaN")]),
            "2 of 8 points · 4 steps a point: band from min to max, line the last · 1 NaN/Inf",
        ),
    ],
)
def test_the_caption_says_what_is_drawn(made, said):
    assert cv.caption([made]) == said


def test_the_axis_leaves_room_on_the_right_unless_it_was_zoomed():
    assert cv.axis("step", (0, 1000), 8, exact=False).end > 1000
    assert cv.axis("step", (0, 1000), 8, exact=True).end == 1000


def test_a_moment_falls_on_the_step_of_the_newest_attempt_that_ran_then():
    early = curve([1.0] * 10)
    assert cv.time_to_step([early], 4_500_000_000) == 4.5
    assert cv.time_to_step([early], 99_000_000_000) == 9
    assert cv.time_to_step([], 1) is None
