"""metrics.domain.spikes: no page without trouble."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


@given(st.lists(st.floats(), max_size=60))
@settings(max_examples=25)
def test_any_numbers_are_survived(values):
    curve = healthy(40, seed=0)
    rows = [
        replace(row, loss=value, grad_norm=value, lr=value, loss_scale=value)
        for row, value in zip(curve_rows(curve), values, strict=False)
    ]
    findings(rows)


@pytest.mark.parametrize("decimals", [1, 2])
def test_a_rounded_log_does_not_page(decimals):
    curve = healthy(3_000, seed=5, noise=0.01)
    curve.loss[:] = np.round(curve.loss, decimals)
    assert pages(curve_rows(curve)) == []


def test_a_log_with_one_row_in_ten_steps_does_not_page():
    rows = [replace(row, step=10 * row.step) for row in curve_rows(healthy(3_000, seed=5))]
    assert pages(rows) == []
