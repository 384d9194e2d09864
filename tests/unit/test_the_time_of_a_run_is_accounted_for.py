"""Goodput by category: every second of the wall clock has one reason."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.rollbacks.domain.goodput import (
    Launch,
    Part,
    SavePause,
    account,
    pauses_of,
    restarts_s,
    stretches,
    weighted,
)

S = 1_000_000_000


def launch(number=0, start=0, first=10, steps=range(101), step_s=1.0, **more):
    """An attempt that logs each step, the first one `first` seconds after its start."""
    times = [int((start + first + i * step_s) * S) for i in range(len(steps))]
    heard = more.pop("heard_ns", times[-1] if times else start * S)
    return Launch(number, start * S, heard, tuple(steps), tuple(times), **more)


def seconds(launches, saves=(), now=10_000):
    found = account(stretches(launches, saves, now * S)).seconds
    return {part.value: value for part, value in found.items() if value}


def test_a_run_without_trouble_starts_and_trains():
    assert seconds([launch()], now=110) == {"starting": 10, "training": 100}


def stopped_for(pause_s, at=50):
    """100 steps of a second, with a stop after one of them."""
    times = [(10 + i + (pause_s if i > at else 0)) * S for i in range(101)]
    return Launch(0, 0, times[-1], tuple(range(101)), tuple(times))


def test_a_save_explains_as_much_of_a_stop_as_it_took():
    run = stopped_for(90)
    assert seconds([run], [SavePause(0, 51, 40.0)]) == {
        "starting": 10, "training": 100, "saving": 40, "stalled": 50,
    }  # fmt: skip
    assert seconds([run], [SavePause(0, 51, None)])["saving"] == 90
    assert seconds([run], [SavePause(0, 60, 40.0)])["stalled"] == 90


def test_a_little_slower_than_usual_is_training():
    assert seconds([stopped_for(20)]) == {"starting": 10, "training": 120}


def test_steps_that_were_given_up_are_redone_once():
    first = launch(kept_until=60)
    second = launch(1, start=130, first=20, steps=range(60, 101))
    assert seconds([first, second], now=190) == {
        "starting": 10 + 20, "training": 60 + 40, "redone": 40, "waiting": 20,
    }  # fmt: skip


def test_an_attempt_that_hangs_before_it_dies_is_stalled():
    hung = launch(heard_ns=400 * S)
    assert seconds([hung, launch(1, start=500)], now=610)["stalled"] == 290


def test_a_running_attempt_trains_until_its_silence_is_unusual():
    run = launch(running=True)
    assert seconds([run], now=130)["training"] == 120
    assert seconds([run], now=900)["stalled"] == 790


def test_an_attempt_without_a_row_only_started():
    assert seconds([Launch(0, 0, 70 * S), launch(1, start=100)], now=210) == {
        "starting": 80, "training": 100, "waiting": 30,
    }  # fmt: skip


def test_a_window_cuts_what_lies_outside():
    found = account(stretches([launch()], [], 110 * S), 60 * S, 100 * S)
    assert (found.of(Part.TRAINING), found.wall_s, found.ratio) == (40, 40, 1.0)
    assert account([]).ratio is None


def test_the_fleet_is_weighted_by_its_gpus():
    small, large = (account(stretches([launch(first=f)], [], 10_000 * S)) for f in (10, 110))
    both = weighted([(small, 8), (large, 1_024)])
    assert both.of(Part.STARTING) == 8 * 10 + 1_024 * 110
    assert both.ratio == pytest.approx((8 + 1_024) * 100 / (8 * 110 + 1_024 * 210))


def test_what_a_save_costs_is_measured_at_the_training():
    assert pauses_of(stopped_for(90), [51]) == [90]
    assert pauses_of(stopped_for(90), [20, 30]) == [0, 0]
    assert pauses_of(Launch(0, 0, 0), [5]) == []


def test_a_restart_costs_from_the_last_row_to_the_first():
    runs = [launch(heard_ns=150 * S), launch(1, start=200, first=30)]
    assert restarts_s(stretches(runs, [], 330 * S)) == [40 + 50 + 30]


def test_a_start_that_logged_nothing_prolongs_the_restart():
    runs = [launch(), Launch(1, 150 * S, 160 * S), launch(2, start=200, first=30)]
    assert restarts_s(stretches(runs, [], 330 * S)) == [40 + 10 + 40 + 30]


launches = st.lists(
    st.tuples(
        st.integers(0, 500),
        st.integers(0, 200),
        st.lists(st.tuples(st.integers(1, 9), st.integers(0, 300)), max_size=8),
        st.none() | st.integers(0, 40),
        st.booleans(),
        st.integers(0, 3_000),
    ),
    min_size=1,
    max_size=4,
)
saves = st.lists(
    st.builds(SavePause, st.integers(0, 3), st.integers(0, 60), st.none() | st.floats(0, 500)),
    max_size=6,
)


def built(drawn):
    found = []
    for number, (start, first, deltas, kept, running, heard) in enumerate(drawn):
        step, at, steps, times = 0, start + first, [], []
        for more_steps, more_s in deltas:
            step, at = step + more_steps, at + more_s
            steps.append(step)
            times.append(at * S)
        found.append(Launch(number, start * S, heard * S, steps, times, kept, running))
    return found


@given(launches, saves, st.integers(500, 4_000))
def test_no_second_is_lost_or_counted_twice(drawn, saved, now):
    runs = built(drawn)
    found = stretches(runs, saved, now * S)
    assert all(one.end_ns > one.start_ns for one in found)
    edges = sorted((one.start_ns, one.end_ns) for one in found)
    assert all(a[1] == b[0] for a, b in pairwise(edges))
    if edges:
        assert account(found).wall_s == pytest.approx((edges[-1][1] - edges[0][0]) / S)
