"""metrics.domain: divergence without an edge, and gradients that lead the loss."""

from dataclasses import replace

import pytest

from tests.metric_samples import curve_rows, pages
from workers.benches.loss_curves import bad_batches, healthy, slow_divergence


@pytest.mark.parametrize("seed", range(4))
def test_a_creeping_loss_pages(seed):
    (found, *_) = pages(curve_rows(slow_divergence(healthy(2_000, seed=seed), 1_000)))

    assert found.kind == "slow_divergence"
    assert 1_000 <= found.onset_step < found.seen_step <= 1_400


def test_a_jump_is_not_told_again_as_slow_divergence():
    curve = healthy(2_000, seed=1, outliers=False)
    curve.loss[1_000:] *= 1.5
    assert len(pages(curve_rows(curve))) == 1


def test_a_gradient_that_grows_for_five_rows_pages_before_the_loss_moves():
    curve = healthy(900, seed=1, outliers=False)
    curve.grad_norm[600:] *= 12
    (found,) = pages(curve_rows(curve))

    assert (found.kind, found.series) == ("precursor", "train/grad_norm")
    assert (found.onset_step, found.seen_step) == (600, 602)


def test_a_gradient_of_two_rows_does_not_page():
    curve = healthy(900, seed=1, outliers=False)
    curve.grad_norm[600:602] *= 50
    assert pages(curve_rows(curve)) == []


@pytest.mark.parametrize("seed", range(4))
def test_high_gradients_of_a_healing_spike_do_not_page(seed):
    curve = bad_batches(healthy(900, seed=seed, outliers=False), 600)
    curve.grad_norm[600:612] *= 3
    assert pages(curve_rows(curve)) == []


def test_a_loss_scale_that_keeps_falling_pages():
    rows = curve_rows(healthy(400, seed=1, outliers=False))
    rows = [replace(row, loss_scale=2.0 ** (16 - min(max(row.step - 300, 0), 5))) for row in rows]
    (found,) = pages(rows)

    assert (found.kind, found.seen_step) == ("loss_scale_collapse", 304)
