"""runs.domain.config_diff."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.runs.domain.config_diff import MAX_SHOWN, changed, commit_of, same_order

FIRST = {
    "optimizer": {"lr": 6e-4, "beta2": 0.95},
    "resume_from": "",
    "model": {"note": "a"},
    "seed": 0,
    "train": {"run_id": 2},
    "wandb/host": "gpu-a01",
}


def test_a_changed_learning_rate_comes_before_everything_else():
    after = {**FIRST, "optimizer": {"lr": 2.4e-2, "beta2": 0.95}, "model": {"note": "b"}}
    assert [(c.text, c.steering) for c in changed(FIRST, after)] == [
        ("optimizer.lr: 0.0006 → 0.024", True),
        ("model.note: a → b", False),
    ]


@pytest.mark.parametrize(
    "of_a_start",
    [
        {"resume_from": "/ckpt/step-900"},
        {"wandb/host": "gpu-b02"},
        {"_wandb": {"start_time": 2}},
        {"a new name": 1},
        {"train": {"run_id": 3}},
    ],
)
def test_what_differs_with_every_start_is_left_out(of_a_start):
    assert changed(FIRST, {**FIRST, **of_a_start}) == ()


def test_a_long_value_is_cut_and_a_long_list_too():
    before = {f"k{at}": "a" * 100 for at in range(200)}
    found = changed(before, dict.fromkeys(before, "b"))
    assert len(found) == MAX_SHOWN
    assert len(found[0].before) == 60


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"seed": 0, "lr": 1}, True),
        ({"seed": 1}, False),
        ({"lr": 1}, None),
        ({}, None),
    ],
)
def test_two_runs_read_alike_if_they_say_the_same_of_seed_and_data(other, same):
    assert same_order(FIRST, other) is same


def test_the_commit_is_the_one_that_wandb_sent():
    assert commit_of({"wandb/commit": "4f2a"}) == "4f2a"
    assert commit_of({"wandb/commit": 3}) == commit_of({}) == ""


words = st.text(max_size=5)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), json, max_size=6))
def test_a_configuration_never_differs_from_itself(config):
    assert changed(config, config) == ()
    assert same_order(config, config) in (True, None)
