"""metrics.domain.departures."""

import numpy as np
import pytest

from apps.metrics.domain.departures import departures
from tests.bank_samples import rows_of

AFTER = 50


def series(seed=0, noise=0.05, rows=1_000):
    return 3.0 * (1 + noise * np.random.default_rng(seed).standard_normal(rows))


def moved(*columns, onset=800, every=1):
    """Who moved around the onset, from a matrix that ends where the search does."""
    values = np.stack(columns, axis=1)[: onset // every + AFTER // every]
    return departures(rows_of(values, every=every), onset)


@pytest.mark.parametrize("lead", [0, 1, 30, 150])
@pytest.mark.parametrize("factor", [0.2, 3.0])
def test_a_series_that_moved_before_the_onset_is_dated(lead, factor):
    value = series()
    value[800 - lead :] *= factor
    (found,) = moved(series(1), value)

    assert (found.column, found.step, found.time_ns) == (1, 800 - lead, (800 - lead) * 10**9)
    assert found.before == pytest.approx(3.0, rel=0.05)
    assert found.value == value[800 - lead].astype(np.float32)


def test_all_movers_come_in_their_order_and_late_ones_too():
    columns = [series(n) for n in range(4)]
    for column, (step, factor) in zip(
        columns, [(790, 3), (810, 9), (700, 3), (790, 9)], strict=True
    ):
        column[step:] *= factor
    assert [(m.column, m.step) for m in moved(*columns)] == [
        (2, 700), (3, 790), (0, 790), (1, 810)
    ]  # fmt: skip


def test_noise_does_not_move():
    assert moved(*(series(seed) for seed in range(200))) == []


def test_a_steady_drift_does_not_move():
    assert moved(series() * np.linspace(1, 4, 1_000)) == []


def test_an_outlier_long_before_is_another_story():
    value = series()
    value[700:703] *= 9
    assert moved(value) == []


def test_a_small_move_long_before_is_a_drift():
    value = series()
    value[700:] *= 1.45
    assert moved(value) == []
    assert [m.step for m in moved(value, onset=710)] == [700]


def test_two_rows_at_the_onset_are_not_enough():
    value = series()
    value[800:802] *= 9
    assert moved(value) == []


def test_a_short_burst_at_the_onset_counts():
    value = series()
    value[800:804] *= 9
    assert [m.step for m in moved(value)] == [800]


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_outside(odd):
    value = series()
    value[790:] = odd
    (found,) = moved(value)
    assert (found.step, found.z) == (790, np.inf)


def test_a_series_logged_every_tenth_step_is_treated_alike():
    value = series()
    value[600:] *= 5
    assert [m.step for m in moved(value, onset=6_005, every=10)] == [6_000]


def test_without_a_past_nothing_can_be_said():
    assert moved(series()[:20] * 9, onset=10) == []
