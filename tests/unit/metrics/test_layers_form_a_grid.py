"""metrics.domain.layers."""

import math

import numpy as np
import pytest

from apps.metrics.domain.layer_keys import recogniser
from apps.metrics.domain.layers import (
    by_statistic,
    edges_at,
    layer_rows,
    layer_z,
    module_rows,
    natural,
    robust_z,
    row,
    together,
)
from apps.metrics.domain.tiers import from_points


def named(*names):
    reader = recogniser()
    return [(name, reader.recognise(name)) for name in names]


def test_layers_come_in_the_order_of_the_network():
    names = ("head", "layers.10", "layers.2", "tok", "layers.0", "norm.weight")
    rows = layer_rows(named(*(f"grad_norm/{name}" for name in names)))
    labels = ["tok", "layer 0", "layer 2", "layer 10", "head", "norm"]
    assert [row.label for row in rows] == labels


def test_a_layer_is_its_modules_together_unless_it_has_a_series_of_its_own():
    modules = ("layers.0.mlp", "layers.0.attn", "layers.1", "layers.1.mlp")
    rows = layer_rows(named(*(f"grad_norm/{module}" for module in modules)))
    assert [(row.label, row.place, row.keys) for row in rows] == [
        ("layer 0", "layer 0", ("grad_norm/layers.0.mlp", "grad_norm/layers.0.attn")),
        ("layer 1", "layer 1", ("grad_norm/layers.1",)),
    ]


def test_a_layer_opens_into_its_modules_in_natural_order():
    names = [f"grad_norm/layers.3.experts.{n}" for n in (10, 2)]
    rows = module_rows(named(*names, "grad_norm/layers.4.mlp"), "layer 3")
    assert [row.label for row in rows] == ["experts.2", "experts.10"]


def test_statistics_are_told_apart_in_the_order_of_their_use():
    keys = ["param_norm/layers.0", "act_rms/layers.0", "loss", "grad_norm/layers.0"]
    assert list(by_statistic(keys, recogniser())) == ["grad_norm", "act_rms", "weight_norm"]


NONE, NAN = None, math.nan


@pytest.mark.parametrize(
    ("norm", "whole"), [(True, [5.0, 4.0, None, NAN]), (False, [4.0, 4.0, None, NAN])]
)
def test_norms_add_up_and_other_statistics_show_their_largest(norm, whole):
    parts = [[3.0, None, None, NAN], [4.0, 4.0, None, 1.0]]
    assert together(parts, norm=norm) == pytest.approx(whole, nan_ok=True)


def test_a_small_module_far_out_is_seen_in_its_layer():
    large, small = [100.0, 101.0, 99.0, 100.0, 100.5], [0.01, 0.011, 0.009, 0.01, 0.5]
    parts = [[*large], [*small]]
    z = layer_z(together(parts, norm=True), parts)
    assert z[-1] > 100
    assert max(map(abs, z[:-1])) < 2


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
    assert sorted(["h.10", "h.2²", "²"], key=natural) == ["h.2²", "h.10", "²"]
