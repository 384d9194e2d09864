"""Smoothing, clipping, log axes, other runs: what is asked for, and what is said about it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.dashboard import curves as cv
from apps.dashboard import figures, lanes
from apps.dashboard.deck_ask import ask_of
from apps.dashboard.other_runs import _Other, _placed, aligned, clock, track

FINITE = st.floats(-1e300, 1e300)


def curve(values, *, attempt=0, first=0, step_ns=1_000_000_000):
    steps = list(range(first, first + len(values)))
    times = [step_ns * n for n in range(len(values))]
    return cv.Curve(attempt, steps, times, values, values, values, (), len(values), len(values), 1)


def chart(values, **view):
    axis = cv.Axis("step", 0, len(values))
    return figures.Chart("x", [curve(values)], {0: None}, axis, view=figures.View(**view))


def roles(made):
    return [trace["meta"]["role"] for trace in made["figure"]["data"]]


@given(st.lists(FINITE, min_size=1), st.floats(0, 0.999))
def test_a_smoothed_line_stays_between_the_values_it_smooths(values, weight):
    found = cv.smoothed(values, weight)
    room = 1e-9 * max(map(abs, values)) + 1e-300
    assert len(found) == len(values)
    assert min(values) - room <= min(found) <= max(found) <= max(values) + room


def test_a_constant_is_not_pulled_to_zero_at_its_start():
    assert cv.smoothed([5.0] * 20, 0.98) == pytest.approx([5.0] * 20)


@given(st.lists(FINITE, min_size=1))
def test_a_range_that_clips_nothing_holds_every_value(values):
    found = cv.whole_range(values)
    assert found.low <= min(values) <= max(values) <= found.high
    assert math.isfinite(found.high - found.low) or found.high > found.low


def test_the_values_stay_below_their_smoothed_line():
    made = figures.line_chart(chart([float(n % 3) for n in range(50)], smooth=0.9))
    assert roles(made) == ["value", "smooth"]
    assert made["caption"].endswith("smoothed with 0.9")


def test_an_arrow_says_where_values_left_the_plot_until_all_are_asked_for():
    values = [1.0 + (n % 7) / 100 for n in range(200)]
    values[120] = 1e9
    clipped = figures.line_chart(chart(values))
    assert clipped["clipped"] == 1
    (arrow,) = [t for t in clipped["figure"]["data"] if t["meta"]["role"] == "clipped"]
    assert list(arrow["x"]) == [120.0]
    whole = figures.line_chart(chart(values, clip=False))
    assert "clipped" not in roles(whole)
    assert whole["figure"]["layout"]["yaxis"]["range"][1] > 1e9


def test_a_log_axis_points_down_to_what_has_no_logarithm():
    made = chart([1.0] * 100 + [-1.0] + [2.0] * 100)
    log = figures.Chart("x", made.curves, {0: None}, made.axis, log=True)
    (arrow,) = [
        t for t in figures.line_chart(log)["figure"]["data"] if t["meta"]["role"] == "clipped"
    ]
    assert (list(arrow["x"]), arrow["marker"]["symbol"]) == ([100.0], "arrow-down")


def test_rows_of_layers_have_hues_of_their_own_and_gaps_for_what_is_no_number():
    rows = [(f"layer {n}", [0.0, 1.0], [1.0, math.nan]) for n in range(5)]
    made = figures.rows_chart(cv.Axis("step", 0, 2), "grad norm", rows, log=False)
    looks = [(t["line"]["color"], t["line"]["dash"]) for t in made["figure"]["data"]]
    assert len(set(looks)) == 5
    assert made["figure"]["data"][0]["y"] == [1.0, None]


def test_runs_are_aligned_by_the_time_they_trained_or_by_the_tokens_they_saw():
    none = np.zeros((2, 0))
    mine = track([curve([1.0] * 11)], {0: None}, none)
    slow = track([curve([1.0] * 6, step_ns=2_000_000_000)], {0: None}, none)
    steps, inside = aligned(slow, mine, "relative")
    assert (steps.tolist(), inside.all()) == ([0, 2, 4, 6, 8, 10], True)
    assert aligned(slow, mine, "tokens") is None
    counted = track([curve([1.0] * 11)], {0: None}, np.array([[0.0, 10.0], [0.0, 100.0]]))
    double = track([curve([1.0] * 6)], {0: None}, np.array([[0.0, 5.0], [0.0, 100.0]]))
    assert aligned(double, counted, "tokens")[0].tolist() == [0, 2, 4, 6, 8, 10]


def test_a_rest_between_two_attempts_is_no_training_time():
    first, second = curve([1.0] * 5), curve([1.0] * 5, attempt=1, first=5)
    later = replace(second, time_ns=[t + 3_600_000_000_000 for t in second.time_ns])
    made = track([first, later], {0: 5, 1: None}, np.zeros((2, 0)))
    assert made.elapsed_ms[-1] == 8_000


@pytest.mark.parametrize(
    ("said", "name", "value"),
    [
        ({"smooth": "7"}, "view.smooth", 0.999),
        ({"smooth": "nan"}, "view.smooth", 0.0),
        ({"clip": "off"}, "view.clip", False),
        ({"log": ""}, "view.log", frozenset()),
        ({}, "view.log", None),
        ({"from": "9", "to": "3"}, "span", None),
        ({"from": "3", "to": "inf"}, "span", None),
        ({"with": "a,b,a,c,d,e,f"}, "others", ("a", "b", "c", "d", "e")),
        ({"align": "moon"}, "align", "step"),
        ({"px": "99999999"}, "pixels", 4_000),
    ],
)
def test_a_senseless_address_is_no_error(said, name, value):
    found = ask_of(said)
    for part in name.split("."):
        found = getattr(found, part)
    assert found == value


@given(st.lists(st.floats(0, 100), max_size=900), st.integers(0, 899))
def test_a_crowded_lane_counts_every_event_and_shows_the_worst(places, at):
    items = [lanes.mark(x, "tick", "critical" if n == at else "ok", f"e{n}")
             for n, x in enumerate(places)]  # fmt: skip
    found = lanes.thinned(lanes.lane("Checkpoints", items), 10, 90)["items"]
    inside = [item for item in items if 10 <= item["x"] <= 90]
    assert sum(item.get("n", 1) for item in found) == len(inside)
    assert len(found) <= lanes.MOST_MARKS + 1
    critical = [item for item in inside if item["tone"] == "critical"]
    assert len([item for item in found if item["tone"] == "critical"]) == len(critical)


def test_another_run_is_placed_at_the_times_of_the_attempts_that_count():
    """Its steps 4 to 9 fall on the first attempt, as only 10 and later are of the second."""
    second = curve([0.0] * 10, attempt=1, first=10)
    second = replace(second, time_ns=[at + 1_000_000_000_000 for at in second.time_ns])
    spine, kept = [curve([0.0] * 14), second], {0: 10, 1: None}
    beside = curve([float(n) for n in range(30)], first=4)
    all_of_it = np.empty(0)
    other = _Other(None, {}, {0: None}, all_of_it, all_of_it)
    other = replace(other, run=type("Run", (), {"key": "beside"}))
    placed = _placed(other, [beside], ask_of({"x": "time"}), clock(spine, kept))
    assert placed.x[:7] == [4_000.0, 5_000.0, 6_000.0, 7_000.0, 8_000.0, 9_000.0, 1_000_000.0]
    assert (placed.x[-1], placed.y[-1]) == (1_009_000.0, 15.0)
