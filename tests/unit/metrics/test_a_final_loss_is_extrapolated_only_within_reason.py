"""metrics.domain.extrapolation and metrics.domain.schedule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.metrics.domain.extrapolation import Point, extrapolate
from apps.metrics.domain.schedule import compute_flops, shape_distance, total_steps
from apps.metrics.domain.sibling import CELLS


def law(compute, floor=1.7, scale=400.0, alpha=0.15):
    return floor + scale * compute**-alpha


def points(*computes, **given):
    return [Point(c, law(c, **given)) for c in computes]


@pytest.mark.parametrize("reach", [1, 10, 100])
def test_the_law_behind_the_points_is_found_again(reach):
    found = extrapolate(points(1e18, 1e19, 1e20, 1e21), reach * 1e21)
    assert found.loss == pytest.approx(law(reach * 1e21), abs=0.02)
    assert found.error < 0.02
    assert (found.sizes, found.reach, found.shape_kept) == (4, pytest.approx(reach), False)


def test_with_three_sizes_the_exponent_is_kept_and_that_is_said():
    assert extrapolate(points(1e18, 1e19, 1e20), 1e21).shape_kept


def test_noise_shows_in_the_error():
    noisy = [Point(p.compute, p.loss + off) for p, off in
             zip(points(1e18, 1e19, 1e20, 1e21), (0.1, -0.1, 0.1, -0.1), strict=True)]  # fmt: skip
    assert extrapolate(noisy, 1e22).error > 0.1


@pytest.mark.parametrize(
    ("known", "target", "told"),
    [
        (points(1e18, 1e19), 1e20, "it takes completed runs of 3 sizes, here is 2"),
        (points(1e18, 1.05e18, 1.1e18), 1e20, "it takes completed runs of 3 sizes, here is 1"),
        (points(1e18, 1e19, 1e20), 1.1e22, "110 times the compute of its largest proxy"),
        ([Point(1e18, np.nan), *points(1e19, 1e20)], 1e21, "is missing"),
        ([], 1e21, "here is 0"),
    ],
)
def test_beyond_its_conditions_it_is_refused_in_words(known, target, told):
    with pytest.raises(AppError, match=told):
        extrapolate(known, target)


@settings(max_examples=25)
@given(
    st.lists(st.floats(0.1, 20), min_size=3, max_size=8),
    st.floats(1e-3, 1e3),
)
def test_it_never_foretells_less_than_nothing_nor_more_than_the_worst(losses, unit):
    known = [Point(unit * 10.0**i, loss) for i, loss in enumerate(losses)]
    found = extrapolate(known, unit * 10.0 ** len(losses))
    assert 0 <= found.loss <= max(losses) + 1e-9
    assert found.error >= 0


@pytest.mark.parametrize(
    ("config", "steps"),
    [
        ({"max_steps": 19_073}, 19_073),
        ({"train": {"train-iters": 500_000, "lr_decay_iters": 430_000}}, 500_000),
        ({"trainer.max_steps": -1, "max_iters": 600}, 600),
        ({"max_steps": "many", "epochs": 3}, None),
        ({"max_steps": True}, None),
        ({}, None),
    ],
)
def test_the_schedule_is_read_from_the_configuration(config, steps):
    assert total_steps(config) == steps


def test_compute_is_six_times_parameters_times_tokens():
    assert compute_flops({"model/num_parameters": 1e9, "total_tokens": 2e10}) == 1.2e20
    assert compute_flops({"n_params": 1e9}) is None


def test_learning_rates_of_one_shape_are_near_and_of_another_are_not():
    x = np.arange(CELLS) / CELLS
    cosine, linear = 0.5 * (1 + np.cos(np.pi * x)), 1 - x
    assert shape_distance(6e-4 * cosine, 3e-3 * cosine) == pytest.approx(0)
    assert shape_distance(cosine, np.ones(CELLS)) > 0.9
    assert shape_distance(cosine, linear) == pytest.approx(0.105, abs=0.01)
    assert shape_distance(cosine, np.full(CELLS, np.nan)) is None
