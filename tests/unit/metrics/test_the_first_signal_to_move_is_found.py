"""metrics.domain.departures."""

import numpy as np
import pytest

from apps.metrics.domain.departures import first_departure

STEP = np.arange(1_000, dtype=np.int64)


def series(seed=0, noise=0.05):
    return 3.0 * (1 + noise * np.random.default_rng(seed).standard_normal(1_000))


@pytest.mark.parametrize("lead", [0, 1, 30, 150])
@pytest.mark.parametrize("factor", [0.2, 3.0])
def test_a_series_that_moved_before_the_onset_is_dated(lead, factor):
    value = series()
    value[800 - lead :] *= factor
    found = first_departure(STEP, value, before_step=800)

    assert found.step == 800 - lead
    assert found.before == pytest.approx(3.0, rel=0.05)
    assert np.sign(found.z) == np.sign(factor - 1)


@pytest.mark.parametrize("seed", range(20))
def test_noise_does_not_move(seed):
    assert first_departure(STEP, series(seed), before_step=800) is None


def test_a_steady_drift_does_not_move():
    assert first_departure(STEP, series() * np.linspace(1, 4, 1_000), before_step=800) is None


def test_an_outlier_long_before_is_another_story():
    value = series()
    value[700:703] *= 9
    assert first_departure(STEP, value, before_step=800) is None


def test_two_rows_at_the_onset_are_not_enough():
    value = series()
    value[800:802] *= 9
    assert first_departure(STEP, value, before_step=800) is None


def test_a_short_burst_at_the_onset_counts():
    value = series()
    value[800:804] *= 9
    assert first_departure(STEP, value, before_step=800).step == 800


def test_what_moves_after_the_onset_is_a_consequence():
    value = series()
    value[801:] *= 9
    assert first_departure(STEP, value, before_step=800) is None


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_outside(odd):
    value = series()
    value[790:] = odd
    found = first_departure(STEP, value, before_step=800)
    assert (found.step, found.z) == (790, np.inf)


def test_a_series_logged_every_tenth_step_is_treated_alike():
    value = series()
    value[90:] *= 5
    assert first_departure(10 * STEP, value, before_step=905).step == 900


def test_without_a_past_nothing_can_be_said():
    assert first_departure(STEP[:10], series()[:10] * 9, before_step=5) is None
    assert first_departure(STEP[:0], series()[:0], before_step=5) is None
