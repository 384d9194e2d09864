"""apps.checkpoints.domain.evalfiles."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain import evalfiles
from apps.checkpoints.domain.scores import headline
from apps.core.errors import BadPayload
from tests.evaluation_samples import lighteval, lm_eval, written


def read(found):
    return evalfiles.parse(written(found))


def numbers(file):
    return {(m.task, m.metric): (m.value, m.stderr, m.higher_is_better) for m in file.measured}


def test_every_metric_of_the_harness_is_read_with_its_error_and_direction():
    file = read(lm_eval())
    assert (file.tool, file.model, file.step) == (evalfiles.LM_EVAL, "/ckpt/run/step-900", 900)
    assert numbers(file) == {
        ("mmlu", "acc"): (0.61, 0.004, True),
        ("mmlu_law", "acc"): (0.5, 0.03, True),
        ("mmlu_maths", "acc"): (0.7, None, True),
        ("gsm8k", "exact_match,strict-match"): (0.3, 0.01, True),
        ("gsm8k", "exact_match,flexible-extract"): (0.35, None, True),
        ("wikitext", "word_perplexity"): (12.5, None, False),
    }
    assert {m.samples for m in file.measured if m.task == "gsm8k"} == {1319}


def test_a_score_of_nan_is_left_out_and_counted():
    assert read(lm_eval()).left_out == 1


def test_parts_of_a_group_are_no_headline():
    names = [m.task for m in headline(read(lm_eval()).measured)]
    assert names == ["mmlu", "gsm8k", "gsm8k", "wikitext"]
    assert [m.task for m in headline(read(lighteval()).measured)] == [
        "wikitext|0", "mmlu:_average|5", "all", "all",
    ]  # fmt: skip


def test_subtasks_of_a_group_without_a_number_of_its_own_stay_headlines():
    file = read(lm_eval(groups={}))
    assert [m.part for m in file.measured] == [False] * 6


@pytest.mark.parametrize(
    ("args", "step"),
    [
        ({"pretrained": "/ckpt/global_step77", "dtype": "bfloat16"}, 77),
        ("pretrained=/ckpt/iter_0000500,trust_remote_code=False", 500),
        ("dtype=float16,model=/ckpt/checkpoint-12", 12),
        ({"pretrained": "org/some-model"}, None),
    ],
)
def test_the_step_comes_from_the_path_of_the_model(args, step):
    assert read(lm_eval(config={"model_args": args})).step == step


def test_every_metric_of_lighteval_is_read_and_means_follow_their_tasks():
    file = read(lighteval())
    assert (file.tool, file.step, file.left_out) == (evalfiles.LIGHTEVAL, 1200, 0)
    assert numbers(file) == {
        ("mmlu:law|5", "acc"): (0.5, 0.05, True),
        ("mmlu:maths|5", "acc"): (0.7, 0.05, True),
        ("wikitext|0", "ppl"): (12.5, None, False),
        ("mmlu:_average|5", "acc"): (0.6, None, True),
        ("all", "acc"): (0.6, None, True),
        ("all", "ppl"): (12.5, None, False),
    }


def test_the_mean_of_one_task_says_nothing_new():
    one = {"gsm8k|0": {"em": 0.3, "em_stderr": 0.01}, "all": {"em": 0.3, "em_stderr": 0.01}}
    assert [m.task for m in read(lighteval(results=one)).measured] == ["gsm8k|0"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", 'an object with "results"'),
        (b'{"results": []}', 'an object with "results"'),
        (b'{"results": {"t": {"acc,none": NaN, "b,none": true}}}', "no score"),
        (b'{"results": {"t": {"acc,none": 1' + b"0" * 400 + b"}}}", "no score"),
        (b"9" * 5_000, "no JSON"),
    ],
)
def test_what_is_no_result_file_is_refused_with_a_reason(content, told):
    with pytest.raises(BadPayload, match=told):
        evalfiles.parse(content)


def test_a_huge_file_is_refused_unread():
    with pytest.raises(BadPayload, match="over 16,777,216"):
        evalfiles.parse(b" " * (evalfiles.MAX_FILE_BYTES + 1))


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
_file = st.dictionaries(
    st.sampled_from(sorted({*lm_eval(), *lighteval()})),
    _json | st.dictionaries(st.sampled_from(["mmlu", "all", "a:_average|5", "a:b|5"]), _json),
)


@given(_file)
def test_any_json_gives_finite_scores_or_its_own_error(found):
    try:
        file = evalfiles.parse(json.dumps(found).encode())
    except BadPayload:
        return
    assert file.measured and all(abs(m.value) < float("inf") for m in file.measured)
