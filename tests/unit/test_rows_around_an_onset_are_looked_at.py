"""incidents.domain.looking, on short series."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.incidents.domain.clues import RateSeen, ScaleSeen
from apps.incidents.domain.looking import (
    judge,
    left_ratio,
    nonfinite_rows,
    rate_seen,
    scale_seen,
    weights_seen,
    window,
)
from apps.incidents.domain.movers import Mover
from tests.incident_samples import at, finding


def series(values, first=0, every=1):
    step = first + every * np.arange(len(values), dtype=np.int64)
    return step, step, np.array(values, np.float64)


def noisy(rows=300, level=2.0):
    return level + 0.01 * np.random.default_rng(7).standard_normal(rows)


def with_value(at, value):
    values = noisy()
    values[at] = value
    return series(values)


@pytest.mark.parametrize("value", [8.0, 0.1])
def test_an_outlier_in_another_pass_is_one_in_either_direction(value):
    found = judge(with_value(250, value), (248, 252))
    assert (found.step, found.outlier, found.z > 0) == (250, True, value > 2)


def test_a_value_that_is_no_number_is_an_outlier_without_end():
    assert judge(with_value(251, math.nan), (248, 252)).z == math.inf


def test_a_normal_pass_is_none_and_a_pass_without_rows_says_nothing():
    assert not judge(series(noisy()), (248, 252)).outlier
    assert judge(series(noisy()), (400, 404)) is None
    assert judge(series(noisy(), first=240), (248, 252)) is None


def test_the_window_reaches_to_the_peak_but_not_far():
    assert window([finding(facts={"peak_step": 1006})], 1001) == (999, 1008)
    assert window([finding(facts={"peak_step": 1500})], 1001) == (999, 1023)
    assert window([finding()], 1001) == (999, 1003)


def lr(*parts):
    return series(np.concatenate([np.atleast_1d(part) for part in parts]))


WARM_UP = np.linspace(0, 1e-3, 200)
COSINE = 1e-3 * (0.5 + 0.5 * np.cos(np.linspace(0, 1.5, 400)))


def test_a_jump_of_the_learning_rate_is_found_with_both_values():
    flat = np.full(300, 6e-4)
    seen = rate_seen(lr(flat, np.full(5, 2.4e-2)), (301, 303), slack=2)
    assert seen == RateSeen(6e-4, 2.4e-2, jump_step=300)


def test_a_ramp_is_a_rise_from_the_last_calm_value():
    flat, ramp = np.full(300, 3e-3), 3e-3 * 1.01 ** np.arange(1, 120)
    seen = rate_seen(lr(flat, ramp), (305, 410), slack=2)
    assert (seen.before, seen.rising) == (pytest.approx(3e-3, rel=0.3), True)
    assert seen.after > 2 * seen.before


def test_a_ramp_that_begins_behind_the_onset_did_not_cause_it():
    flat, ramp = np.full(300, 3e-3), 3e-3 * 1.01 ** np.arange(1, 120)
    assert not rate_seen(lr(flat, ramp), (250, 410), slack=2).rising


@pytest.mark.parametrize(
    "values", [[WARM_UP], [WARM_UP, COSINE], [np.full(300, 1e-3)], [np.full(3, 1e-3)]]
)
def test_schedules_are_no_rise(values):
    found = lr(*values)
    for onset in found[0][:: max(1, len(found[0]) // 20)]:
        seen = rate_seen(found, (int(onset), int(onset) + 50), slack=2)
        assert (seen.rising, seen.jump_step) == (False, None)


def test_a_learning_rate_that_is_not_logged_there_is_none():
    assert rate_seen(series([1e-3], first=500), (100, 100), slack=2) is None


def test_the_loss_scale_is_its_highest_and_then_its_lowest_value():
    values = [65536] * 50 + [32768, 16384, 8192, 4096] + [4096] * 20
    assert scale_seen(series(values), 52) == ScaleSeen(65536, 4096)
    assert scale_seen(series([math.nan]), 0) is None


def test_values_that_are_no_numbers_are_counted_near_the_onset():
    values = noisy()
    values[[10, 250, 252]] = math.inf
    assert nonfinite_rows([series(values), series([])], 251) == 2
    assert nonfinite_rows([series([])], 251) is None


FACTS = {"before": 2.0, "peak": 6.0}


@pytest.mark.parametrize(
    ("tail", "left"),
    [([6.0] * 5, 1.0), ([2.0] * 5, 0.0), ([5, 3, 3, 3, 3], 0.25), ([math.nan] * 5, 1.0)],
)
def test_what_is_left_of_a_spike_is_a_share_of_its_peak(tail, left):
    assert left_ratio([finding(facts=FACTS)], np.array(tail)) == left


def test_without_a_level_or_a_row_nothing_is_said_of_what_is_left():
    assert left_ratio([finding()], np.array([3.0])) is None
    assert left_ratio([finding(facts=FACTS)], np.array([])) is None


def mover(series, step=1001, z=245.0):
    return Mover(series, step, at(step), series, 0, 0.0, z=z)


WEIGHTS = mover("param_norm/layers.1")
KEYS = ["train/loss", "param_norm/layers.1", "update_norm"]


@pytest.mark.parametrize(
    ("movers", "keys", "updated"),
    [
        ([WEIGHTS], KEYS, False),
        ([WEIGHTS, mover("update_norm", 1000)], KEYS, True),
        ([WEIGHTS, mover("update_norm", 1002)], KEYS, False),
        ([WEIGHTS], ["train/loss", "param_norm/layers.1"], None),
    ],
)
def test_weights_that_move_are_explained_by_an_update_before_them_or_by_nothing(
    movers, keys, updated
):
    seen = weights_seen(movers, keys, 1001)
    assert (seen.words, seen.step, seen.updated) == ("param_norm/layers.1", 1001, updated)


@pytest.mark.parametrize(
    "movers",
    [[], [mover("update_norm")], [mover("param_norm", 1020)], [mover("param_norm", z=9.0)]],
)
def test_weights_that_stay_or_drift_or_move_later_say_nothing(movers):
    assert weights_seen(movers, KEYS, 1001) is None


@given(st.lists(st.floats(0.1, 10), min_size=40, max_size=80), st.floats(0.001, 1000))
def test_a_judgement_does_not_depend_on_the_unit_of_the_loss(values, unit):
    one = judge(series(values), (38, 39))
    other = judge(series(np.array(values) * unit), (38, 39))
    assert other.z == pytest.approx(one.z, rel=1e-6, abs=1e-6)
