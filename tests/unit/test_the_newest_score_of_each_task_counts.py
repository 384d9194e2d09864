"""apps.checkpoints.domain.scores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain import scores
from apps.checkpoints.domain.scores import Measured, Result
from apps.core.errors import AppError


def result(step, at_ns, *measured, attempt=0, suite="s"):
    return Result(attempt, step, suite, at_ns, "ci", measured)


def acc(value, task="mmlu", **more):
    return Measured(task, "acc", value, higher_is_better=True, **more)


def test_a_later_result_replaces_only_the_tasks_it_has():
    found = scores.newest(
        [result(9, 2, acc(0.5)), result(9, 1, acc(0.4), acc(0.3, "arc")), result(4, 9, acc(0.1))]
    )
    assert list(found) == [4, 9]
    assert [(s.task, s.value) for s in found[9]] == [("arc", 0.3), ("mmlu", 0.5)]


def test_attempts_and_suites_are_kept_apart():
    found = scores.newest(
        [
            result(9, 1, acc(0.1)),
            result(9, 1, acc(0.2), attempt=1),
            result(9, 1, acc(0.3), suite="t"),
        ]
    )
    assert [(s.attempt, s.suite, s.value) for s in found[9]] == [
        (1, "s", 0.2), (0, "s", 0.1), (0, "t", 0.3),
    ]  # fmt: skip


def test_the_best_is_by_direction_and_earliest_of_equals():
    found = scores.newest(
        [
            result(1, 1, acc(0.5), Measured("w", "ppl", 9.0, higher_is_better=False)),
            result(2, 1, acc(0.5), Measured("w", "ppl", 8.0, higher_is_better=False)),
            result(3, 1, acc(0.4), Measured("x", "odd", 8.0)),
        ]
    )
    best = scores.best(found)
    assert {what[2]: score.step for what, score in best.items()} == {"acc": 1, "ppl": 2}


@given(st.permutations([result(1, at, acc(at / 10), acc(0.5, "b")) for at in range(5)]))
def test_the_order_of_results_changes_nothing(results):
    (found,) = scores.newest(results).values()
    assert [(s.task, s.value) for s in found] == [("b", 0.5), ("mmlu", 0.4)]


@pytest.mark.parametrize(
    ("measured", "where"),
    [
        ([], "scores"),
        ([acc(float("nan"))], "scores[0].value"),
        ([acc(0.5), acc(0.6)], "scores[1]"),
        ([acc(0.5, "")], "scores[0].task"),
        ([acc(0.5, "x" * 201)], "scores[0].task"),
        ([acc(0.5, "a\nb")], "scores[0].task"),
        ([acc(0.5, str(i)) for i in range(scores.MAX_SCORES + 1)], "scores"),
    ],
)
def test_a_wrong_score_is_named(measured, where):
    with pytest.raises(AppError) as caught:
        scores.checked(measured)
    assert caught.value.where == where


@pytest.mark.parametrize(
    ("metric", "way"), [("word_perplexity", False), ("eval_loss", False), ("acc", None)]
)
def test_a_name_tells_the_direction_only_where_less_is_surely_better(metric, way):
    assert scores.direction(metric) is way
