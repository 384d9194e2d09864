"""metrics.domain.spikes: excursions that come back by themselves are told, not paged."""

import pytest

from apps.metrics.domain.spikes import SpikeDetector
from tests.metric_samples import curve_rows, findings, pages
from workers.benches.loss_curves import bad_batches, healthy


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("onset", [60, 400, 1_200])
def test_three_bad_batches_under_clipping_are_an_outlier(seed, onset):
    rows = curve_rows(bad_batches(healthy(1_500, seed=seed, outliers=False), onset))
    (found,) = findings(rows).values()

    assert (found.kind, found.severity, found.onset_step) == ("outlier", "warn", onset)
    assert onset + 9 < found.closed_step < onset + 45
    assert found.facts["peak_step"] in (onset, onset + 1, onset + 2)
    assert "back by step" in found.title


def test_one_bad_row_is_information():
    curve = healthy(900, seed=1, outliers=False)
    curve.loss[500] *= 1.9
    (found,) = findings(curve_rows(curve)).values()

    assert (found.kind, found.severity, found.onset_step) == ("outlier", "info", 500)


def test_a_small_excursion_of_one_row_is_not_told():
    curve = healthy(900, seed=1, outliers=False)
    curve.loss[500] *= 1.2
    assert findings(curve_rows(curve)) == {}


@pytest.mark.parametrize("seed", range(3))
def test_a_transient_after_a_restart_is_not_paged(seed):
    curve = healthy(600, seed=seed, outliers=False)
    curve.loss[200:220] *= 1.6
    rows = curve_rows(curve)
    detector = SpikeDetector()
    detector.feed(rows[:200])
    detector.start_attempt(1, {})
    assert [f for f in detector.feed(rows[200:]) if f.page] == []


def test_the_same_transient_in_the_middle_of_an_attempt_is_paged():
    curve = healthy(600, seed=0, outliers=False)
    curve.loss[200:220] *= 1.6
    assert len(pages(curve_rows(curve))) == 1
