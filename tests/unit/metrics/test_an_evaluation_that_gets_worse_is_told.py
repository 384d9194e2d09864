"""metrics.domain.evaluation: which series are evaluations, which way is better, what is worse."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import FindingSeverity
from apps.metrics.domain.evaluation import (
    EvaluationState,
    Point,
    begin,
    direction,
    evaluations,
    feed,
)
from apps.metrics.domain.planned import PlannedChange

S = 1_000_000_000
LEARNING = [round(2.4 + 0.6 * 0.7**n, 3) for n in range(20)]
"""It ends at 2.401."""


def rows(values, *, every=100, first=0):
    return [(first + every * n, (first + every * n) * S, v) for n, v in enumerate(values)]


def fed(values, key="eval/loss", planned=(), state=None, first=0):
    state = state or EvaluationState(0)
    return {f.key: f for f in feed(state, {key: rows(values, first=first)}, planned)}


@pytest.mark.parametrize(
    "name",
    ["eval/loss", "val/perplexity", "eval_mmlu/acc", "validation loss", "test/accuracy",
     "downstream/hellaswag_acc_norm", "lm loss validation/lm loss", "eval/c4/CrossEntropyLoss"],
)  # fmt: skip
def test_results_are_known_by_their_names(name):
    assert evaluations([name, "train/loss", "grad_norm", "latest/loss"]) == [name]


@pytest.mark.parametrize(
    "name", ["eval/runtime", "eval/samples_per_second", "eval/steps_per_second", "val/epoch"]
)
def test_what_an_evaluation_costs_is_no_result(name):
    assert evaluations([name]) == []


@pytest.mark.parametrize(
    ("name", "better"),
    [("eval/loss", 1), ("val/ppl", 1), ("eval/bits_per_byte", 1), ("eval/mmlu", -1),
     ("eval/accuracy", -1), ("eval/pass@1", -1), ("eval/something", 0)],
)  # fmt: skip
def test_a_name_says_which_way_is_better(name, better):
    assert direction(name, []) == better


def test_where_the_name_says_nothing_the_slope_does():
    rising = [Point(n, n, v) for n, v in enumerate([0.1, 0.2, 0.25, 0.3, 0.33, 0.35])]
    assert direction("eval/something", rising) == -1
    assert direction("eval/something", rising[::-1]) == 1
    flat = [Point(n, n, v) for n, v in enumerate([1, 3, 2, 3, 1, 2])]
    assert direction("eval/something", flat) == 0


def test_an_evaluation_that_improves_is_silent():
    assert fed(LEARNING) == {}


def test_one_far_worse_evaluation_warns():
    (found,) = fed([*LEARNING, 2.6]).values()
    assert found.severity is FindingSeverity.WARN
    assert (found.kind, found.onset_step) == ("eval_regression", 2_000)
    assert found.title == "eval/loss got worse, 2.4 -> 2.6, since step 2,000"
    assert found.facts["best_step"] == 1_800


def test_a_little_worse_counts_from_the_second_on():
    assert fed([*LEARNING, 2.46]) == {}
    (found,) = fed([*LEARNING, 2.46, 2.47]).values()
    assert (found.onset_step, found.seen_step) == (2_000, 2_100)
    assert fed([*LEARNING, 2.46, 2.40, 2.46, 2.40]) == {}


def test_a_score_that_falls_is_worse():
    scores = [0.25, 0.31, 0.36, 0.40, 0.43, 0.45, 0.46, 0.465, 0.47, 0.47]
    assert fed([*scores, 0.46], "eval/mmlu") == {}
    (found,) = fed([*scores, 0.3], "eval/mmlu").values()
    assert found.title == "eval/mmlu got worse, 0.47 -> 0.3, since step 1,000"


def test_a_loss_that_is_no_number_is_worse():
    (found,) = fed([*LEARNING, math.nan]).values()
    assert found.facts["value"] == "NaN"


def test_a_noisy_benchmark_may_fall_by_its_noise():
    noise = 0.04 * np.random.default_rng(5).standard_normal((50, 60))
    alarmed = [seed for seed, row in enumerate(noise) if fed(list(0.5 + row), "eval/arc")]
    assert len(alarmed) <= 1


def test_it_ends_with_a_good_evaluation():
    (found,) = fed([*LEARNING, 2.6, 2.58, 2.401]).values()
    assert (found.onset_step, found.closed_step) == (2_000, 2_200)
    assert found.title == "eval/loss was worse from step 2,000, back by step 2,200"


def test_a_planned_change_makes_it_information_and_the_new_level():
    planned = [PlannedChange("data", 1_950, 2_100, "a harder mixture", "person")]
    (found,) = fed([*LEARNING, 2.6, 2.6, 2.59, 2.58, 2.57, 2.56], planned=planned).values()
    assert (found.severity, found.closed_step) == (FindingSeverity.INFO, 2_000)
    assert found.facts["planned"].startswith("data or its mixture from step 1,950")


def test_a_new_attempt_knows_the_evaluations_before_its_fork():
    parent = EvaluationState(0)
    feed(parent, {"eval/loss": rows([*LEARNING, 2.6])})
    child = begin(parent, 1, fork_step=1_150)
    (found,) = fed([2.9], state=child, first=1_200).values()
    assert (found.attempt, found.facts["before"]) == (1, LEARNING[10])


values_of = st.lists(st.floats(0.1, 10) | st.just(math.nan), min_size=1, max_size=90)


@given(values_of, st.integers(0, 90))
def test_a_restart_changes_nothing_and_the_state_is_bounded(values, cut):
    whole, half = EvaluationState(0), EvaluationState(0)
    told = {f.key: f for f in feed(whole, {"eval/loss": rows(values)})}
    first = feed(half, {"eval/loss": rows(values)[:cut]})
    half = msgspec.msgpack.decode(msgspec.msgpack.encode(half), type=EvaluationState)
    rest = feed(half, {"eval/loss": rows(values)[cut:]})
    assert {f.key: f for f in [*first, *rest]} == told
    assert half == whole
    assert len(whole.series["eval/loss"].points) <= 64


@given(st.lists(st.floats(0.01, 0.2), min_size=4, max_size=40))
def test_what_only_improves_is_silent(steps):
    assert fed([10 - sum(steps[:n]) for n in range(len(steps))]) == {}
