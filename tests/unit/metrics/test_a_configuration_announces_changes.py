"""metrics.domain.announced."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.metrics.domain.announced import from_config

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("config", "kind", "steps"),
    [
        ({"warmup_steps": 500}, "warm_up", 500),
        ({"optimizer": {"lr-warmup-iters": 2_000.0}}, "warm_up", 2_000),
        ({"args.num_warmup_steps": 30}, "warm_up", 30),
        ({"warmup_steps": 10, "t": {"warmup_iters": 90}}, "warm_up", 90),
        ({"curriculum_learning": {"total_curriculum_step": 7}}, "curriculum", 7),
    ],
)
def test_steps_of_a_known_name_are_a_change(config, kind, steps):
    (found,) = from_config(config)
    assert (found.kind, found.from_step, found.to_step, found.source) == (kind, 0, steps, "config")


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"warmup_steps": 0},
        {"warmup_steps": None},
        {"warmup_steps": True},
        {"warmup_steps": "many"},
        {"warmup_steps": float("inf")},
        {"warmup_steps": float("nan")},
        {"warmup_ratio": 0.03},
    ],
)
def test_what_names_no_steps_announces_nothing(config):
    assert from_config(config) == ()


@given(st.dictionaries(st.text(max_size=12) | st.just("warmup_steps"), JSON))
def test_any_configuration_is_survived(config):
    assert all(change.to_step >= 1 for change in from_config(config))


def test_a_configuration_without_end_is_read_within_bounds():
    deep = {"warmup_steps": 3}
    for _ in range(50):
        deep = {"deeper": deep}
    assert from_config({**deep, **{str(at): at for at in range(20_000)}}) == ()
