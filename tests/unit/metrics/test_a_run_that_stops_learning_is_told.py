"""metrics.domain.plateau, through the detector."""

import numpy as np
import pytest

from tests.metric_samples import curve_rows, findings
from workers.benches.loss_curves import healthy


def stuck(rows, at, seed=2):
    """A run that learns like any other up to a row, and then no more, at a constant rate."""
    curve = healthy(rows, seed=seed, outliers=False, noise=0.01)
    curve.loss[at:] = curve.loss[at] * (1 + 0.01 * np.random.default_rng(9).normal(size=rows - at))
    curve.lr[:] = 3e-4
    return curve


@pytest.mark.parametrize("seed", range(3))
def test_a_doubling_of_the_rows_without_gain_is_a_warning(seed):
    (found,) = findings(curve_rows(stuck(2_000, 300, seed))).values()

    assert (found.kind, found.severity, found.closed_step) == ("plateau", "warn", None)
    assert 500 <= found.onset_step <= 1_000


def test_it_is_over_when_the_loss_falls_again():
    curve = stuck(2_000, 300)
    curve.loss[1_500:] *= 0.9
    (found,) = findings(curve_rows(curve)).values()
    assert 1_500 <= found.closed_step <= 1_540


@pytest.mark.parametrize("seed", range(4))
def test_a_power_law_never_stops(seed):
    kinds = {f.kind for f in findings(curve_rows(healthy(6_000, seed=seed))).values()}
    assert "plateau" not in kinds


def test_a_learning_rate_that_has_decayed_explains_it():
    curve = stuck(2_000, 300)
    curve.lr[300:] = 1e-5
    assert findings(curve_rows(curve)) == {}
