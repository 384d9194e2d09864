"""metrics.domain.layers."""

import math

import numpy as np
import pytest

from apps.metrics.domain.layers import edges_at, in_network_order, robust_z, row
from apps.metrics.domain.tiers import from_points


def test_layers_come_in_the_order_of_the_network():
    names = [f"grad_norm/{name}" for name in ("head", "layers.10", "layers.2", "tok", "layers.0")]
    assert in_network_order(names) == [
        f"grad_norm/{name}" for name in ("tok", "layers.0", "layers.2", "layers.10", "head")
    ]


def test_a_cell_holds_the_largest_value_or_says_why_not():
    step = np.array([0, 1, 2, 5, 6, 12])
    value = np.array([1.0, 3.0, 2.0, math.nan, math.inf, 7.0])
    buckets = from_points(step, step, value, 0)
    cells = row(buckets, 2, edges_at(0, 15, 2))

    assert cells[0] == 3.0
    assert math.isnan(cells[1])
    assert cells[2:] == [None, 7.0]


def test_edges_are_aligned():
    assert edges_at(100, 200, 6) == [64, 128, 192, 256]


@pytest.mark.parametrize(
    ("cells", "z"),
    [
        ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
        ([None, None], [None, None]),
        ([0.0, 1.0, 2.0], [-1 / 1.4826, 0.0, 1 / 1.4826]),
    ],
)
def test_z_is_robust(cells, z):
    assert robust_z(cells) == pytest.approx(z)


def test_a_far_cell_stands_out():
    assert robust_z([1.0, 1.1, 0.9, 1.0, 50.0])[-1] > 100


def test_a_name_may_end_in_any_sign():
    assert in_network_order(["grad_norm/h.2²", "grad_norm/h.10", "grad_norm/²"])[0:2] == [
        "grad_norm/h.2²",
        "grad_norm/h.10",
    ]
