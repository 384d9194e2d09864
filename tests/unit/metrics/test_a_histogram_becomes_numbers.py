"""metrics.domain.histograms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.metrics.domain.histograms import FIGURES, figures, of_wandb

WIDE = st.floats(allow_nan=True, allow_infinity=True)


def counted(values, bins=64):
    counts, edges = np.histogram(values, bins=bins)
    return counts.tolist(), edges.tolist()


def test_the_figures_are_within_half_a_bin_of_the_truth():
    values = np.random.default_rng(1).normal(0.02, 0.5, 40_000)
    counts, edges = counted(values)
    half = (edges[1] - edges[0]) / 2
    found = figures(counts, edges)

    assert found["mean"] == pytest.approx(values.mean(), abs=half)
    assert found["std"] == pytest.approx(values.std(), abs=half)
    assert found["rms"] == pytest.approx(math.sqrt((values**2).mean()), abs=half)
    assert found["norm"] == pytest.approx(float(np.linalg.norm(values)), rel=0.01)
    assert found["max_abs"] == abs(values).max()


@pytest.mark.parametrize("value", [0.0, -3.25])
def test_one_value_repeated_is_that_value(value):
    found = figures(*counted(np.full(10, value)))
    assert found["max_abs"] == pytest.approx(abs(value))
    assert found["norm"] == pytest.approx(abs(value) * math.sqrt(10))
    assert found["std"] == 0.0


def test_bins_of_no_width_are_read_exactly():
    assert figures([0, 5, 0], [2.0, 2.0, 2.0, 2.0])["rms"] == 2.0


def test_what_wandb_sends_is_read_in_both_forms():
    edges = {"_type": "histogram", "values": [1, 0, 3], "bins": [-1.0, 0.0, 1.0, 2.0]}
    packed = {"_type": "histogram", "values": [1, 0, 3],
              "packedBins": {"min": -1.0, "size": 1.0, "count": 3}}  # fmt: skip
    assert of_wandb(edges) == of_wandb(packed)
    assert of_wandb(edges)["mean"] == pytest.approx((-0.5 + 3 * 1.5) / 4)


@pytest.mark.parametrize(
    ("counts", "edges"),
    [
        ([], [0.0]),
        ([0, 0], [0.0, 1.0, 2.0]),
        ([1, -1], [0.0, 1.0, 2.0]),
        ([1], [1.0, 0.0]),
        ([1, 1], [0.0, 1.0]),
        ([1], [0.0, math.inf]),
        ([math.nan], [0.0, 1.0]),
        ([[1]], [0.0, 1.0]),
        (["a"], [0.0, 1.0]),
        ([1] * 5_000, list(range(5_001))),
    ],
)
def test_what_is_no_histogram_gives_nothing(counts, edges):
    assert figures(counts, edges) is None


@given(st.lists(WIDE | st.integers(), max_size=6), st.lists(WIDE | st.integers(), max_size=7))
def test_no_numbers_break_it(counts, edges):
    found = figures(counts, edges)
    assert found is None or tuple(found) == FIGURES


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=64).filter(any),
    st.floats(-1e6, 1e6),
    st.floats(1e-6, 1e3),
)
def test_the_figures_agree_with_each_other(counts, low, width):
    found = figures(counts, [low + width * at for at in range(len(counts) + 1)])
    assert found["rms"] ** 2 == pytest.approx(found["mean"] ** 2 + found["std"] ** 2, rel=1e-6)
    assert found["rms"] <= found["max_abs"] * (1 + 1e-9)
    assert found["norm"] == pytest.approx(found["rms"] * math.sqrt(sum(counts)))
