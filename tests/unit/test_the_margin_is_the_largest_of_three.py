import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.rollbacks.domain.margin import MarginPolicy, margin, save_interval

KINDS = ("explosion", "rank_outlier", "nonfinite", "slow_divergence", "precursor", "never heard of")
_steps = st.integers(min_value=0, max_value=100_000)


@pytest.mark.parametrize(
    ("kind", "window", "interval", "steps", "words"),
    [
        ("explosion", 10, 50, 100, "100 steps at least"),
        ("explosion", 100, 50, 200, "two windows of the detector of 100 steps"),
        ("explosion", 10, 1_000, 1_000, "one save interval of 1000 steps"),
        ("slow_divergence", 100, 0, 250, "250 steps at least"),
        ("never heard of", 0, 0, 250, "250 steps at least"),
        ("failure", 100, 1_000, 0, "this kind of fault leaves the state whole"),
    ],
)
def test_each_term_may_decide(kind, window, interval, steps, words):
    found = margin(kind, window_steps=window, interval_steps=interval)
    assert (found.steps, found.words) == (steps, words)


@given(st.sampled_from(KINDS), _steps, _steps)
def test_it_is_never_less_than_any_of_them(kind, window, interval):
    found = margin(kind, window_steps=window, interval_steps=interval)
    assert found.steps >= max(100, 2 * window, interval)


@given(st.sampled_from(KINDS), _steps, _steps, _steps)
def test_a_project_decides_instead_but_not_over_a_crash(kind, window, interval, fixed):
    policy = MarginPolicy(fixed_steps=fixed)
    asked = {"window_steps": window, "interval_steps": interval, "policy": policy}
    assert margin(kind, **asked).steps == fixed
    assert margin("failure", **asked).steps == 0


def test_the_save_interval_is_that_of_the_last_saves():
    assert save_interval([10, 20, 30, *range(1_000, 3_001, 200)]) == 200
    assert save_interval([300, 100, 300, 200]) == 100
    assert save_interval([100]) == save_interval([]) == 0
