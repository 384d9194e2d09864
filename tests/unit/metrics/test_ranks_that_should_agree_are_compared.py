"""metrics.domain.rank_outlier with the policy of any number that ranks log."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.metrics.domain import rank_outlier
from apps.metrics.domain.rank_outlier import SIGNAL_POLICY, RankState
from apps.metrics.domain.rank_signals import MAX_JUDGED, Meaning, judged
from apps.metrics.domain.rank_state import RankCase
from tests.metric_samples import points_of_ranks

CASE = RankCase(0, "rank/grad_norm", 16, Meaning.SIGNAL)


def judge(table):
    return rank_outlier.judge(RankState(), points_of_ranks(table), CASE, SIGNAL_POLICY)


def norms(seed=0, steps=30, ranks=16):
    return 1 + 0.1 * np.random.default_rng(seed).standard_normal((steps, ranks))


@given(
    seed=st.integers(0, 9_999), rank=st.integers(0, 15), sign=st.sampled_from([-1, 1]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]), shift=st.floats(-2, 2),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_a_rank_apart_is_found_whatever_the_scale_and_the_level(seed, rank, sign, scale, shift):
    table = norms(seed)
    table[12:, rank] += sign * 4.0
    (found,) = judge((table + shift) * scale)

    assert (found.kind, found.severity, found.rank) == ("rank_outlier", "warn", rank)
    assert (found.onset_step, found.series) == (120, "rank/grad_norm")
    assert found.suspects[0].confidence == 0.5


@given(
    seed=st.integers(0, 9_999),
    ranks=st.integers(4, 64),
    noise=st.sampled_from(["normal", "laplace", "t3", "lognormal", "ties", "equal"]),
)
@settings(max_examples=60, deadline=None)
def test_ranks_that_could_be_exchanged_raise_no_alarm(seed, ranks, noise):
    """Tails as heavy as t3 pass 10 robust standard deviations at 0.15 % of the steps: four of five
    times for the same rank at less than 1e-10."""
    random = np.random.default_rng(seed)
    size = (40, ranks)
    table = {
        "normal": lambda: random.standard_normal(size),
        "laplace": lambda: random.laplace(size=size),
        "t3": lambda: random.standard_t(3, size),
        "lognormal": lambda: np.exp(0.5 * random.standard_normal(size)),
        "ties": lambda: random.integers(0, 3, size).astype(float),
        "equal": lambda: np.full(size, 0.31),
    }[noise]()
    assert judge(table) == []


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_stands_apart(value):
    table = norms()
    table[12:, 3] = value
    (found,) = judge(table)
    assert (found.rank, found.facts["z"]) == (3, None)


def test_a_number_that_all_ranks_share_is_compared_to_its_last_digit_but_one():
    """The norm of the whole job, printed by each rank."""
    table = np.full((30, 16), 0.31)
    table[10:, 2] = 0.3101
    assert judge(table) == []
    table[10:, 2] = 0.34
    assert [found.rank for found in judge(table)] == [2]


def test_the_series_that_are_compared_are_few_and_always_the_same():
    names = [f"rank/loss_{at}" for at in range(50)] + ["rank/data_time", "rank/grad_norm"]
    said = {f"rank/loss_{at}": "signal" for at in range(20)}

    assert [one.series for one in judged(names)] == ["rank/grad_norm", "rank/data_time"]
    assert judged(names, said) == judged(reversed(names), said)
    assert len(judged(names, said)) == MAX_JUDGED
