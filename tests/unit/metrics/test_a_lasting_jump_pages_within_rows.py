"""metrics.domain.spikes: what stays up needs a person."""

import pytest

from tests.metric_samples import curve_rows, findings, pages
from workers.benches.loss_curves import explosion, healthy, level_shift, repeated_batch


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("onset", [60, 300, 1_200])
def test_an_explosion_under_a_wrong_learning_rate_pages_with_its_second_row(seed, onset):
    (found,) = pages(curve_rows(explosion(healthy(1_500, seed=seed, outliers=False), onset)))

    assert (found.kind, found.onset_step) == ("explosion", onset)
    assert found.seen_step == onset + 1
    assert found.closed_step is None
    assert found.facts["lr_change_step"] == onset
    assert found.facts["lr_after"] > 10 * found.facts["lr_before"]
    assert found.key == f"spike:a0:s{onset}"


@pytest.mark.parametrize("seed", range(6))
def test_a_loss_that_stays_a_fifth_higher_pages_as_level_shift(seed):
    curve = level_shift(healthy(1_500, seed=seed, noise=0.03, outliers=False), 800)
    (found,) = [f for f in pages(curve_rows(curve)) if f.detector == "metrics.spikes"]

    assert (found.kind, found.onset_step) == ("level_shift", 800)
    assert found.seen_step <= 815
    assert "lr_change_step" not in found.facts


@pytest.mark.parametrize("seed", range(3))
def test_a_recovered_explosion_closes(seed):
    base = healthy(1_500, seed=seed, outliers=False)
    curve = explosion(base, 800)
    curve.loss[860:] = base.loss[860:]
    (found,) = pages(curve_rows(curve))

    assert 865 <= found.closed_step <= 900
    assert found.facts["closed_by"] == "recovered"
    assert "back" not in found.title or found.kind != "explosion"


@pytest.mark.parametrize("seed", range(3))
def test_a_loss_that_falls_too_fast_pages(seed):
    (found,) = pages(curve_rows(repeated_batch(healthy(1_500, seed=seed, outliers=False), 800)))

    assert found.kind == "loss_drop"
    assert 800 <= found.onset_step <= 806
    assert found.seen_step <= 820


def test_a_planned_fall_of_the_learning_rate_and_the_loss_does_not_page():
    curve = healthy(1_500, seed=2, outliers=False)
    curve.loss[800:] *= 0.7
    assert pages(curve_rows(curve)) == []


def test_the_unit_of_the_loss_does_not_matter():
    small = explosion(healthy(900, seed=3), 500)
    large = explosion(healthy(900, seed=3), 500)
    large.loss[:] *= 65_536
    small_found, large_found = findings(curve_rows(small)), findings(curve_rows(large))

    assert list(small_found) == list(large_found)
    assert [f.seen_step for f in small_found.values()] == [
        f.seen_step for f in large_found.values()
    ]
