"""metrics.domain.spikes: no page without trouble."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.metrics.domain.train_row import TrainRow
from tests.metric_samples import curve_rows, findings, pages
from workers.benches.loss_curves import healthy


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.06])
@pytest.mark.parametrize("seed", range(4))
def test_noise_and_one_row_outliers_do_not_page(seed, noise):
    assert pages(curve_rows(healthy(4_000, seed=seed, noise=noise))) == []


@given(st.floats(0.01, 1e6), st.integers(2, 400))
@settings(max_examples=25)
def test_a_constant_says_nothing(value, rows):
    curve = healthy(rows, seed=0)
    curve.loss[:], curve.grad_norm[:] = value, value
    assert findings(curve_rows(curve)) == {}


WIDE = st.floats() | st.sampled_from([0.0, 5e-324, 1e-300, 1e-9, 1.0, 3e38, 1e99, 1e308, -1e308])
RUNS = st.lists(st.tuples(WIDE, st.integers(1, 90)), min_size=1, max_size=8)
"""Values, and for how many rows each of them stays."""


@given(RUNS, RUNS, RUNS)
@settings(max_examples=25, deadline=None)
def test_any_numbers_are_survived(losses, norms, others):
    columns = [
        [v for value, rows in runs for v in [value] * rows] for runs in (losses, norms, others)
    ]
    rows = [
        TrainRow(at, at, loss, norm, other, other, other, other, other, other, other, other)
        for at, (loss, norm, other) in enumerate(zip(*columns, strict=False))
    ]
    findings(rows)


def test_norms_of_all_magnitudes_are_survived():
    curve = healthy(400, seed=0)
    curve.grad_norm[:] = 10.0 ** np.random.default_rng(0).uniform(-200, 90, 400)
    findings(curve_rows(curve))


@pytest.mark.parametrize("decimals", [1, 2])
def test_a_rounded_log_does_not_page(decimals):
    curve = healthy(3_000, seed=5, noise=0.01)
    curve.loss[:] = np.round(curve.loss, decimals)
    assert pages(curve_rows(curve)) == []


def test_a_log_with_one_row_in_ten_steps_does_not_page():
    rows = [replace(row, step=10 * row.step) for row in curve_rows(healthy(3_000, seed=5))]
    assert pages(rows) == []
