"""Rows as Megatron-LM and Hugging Face log them when numbers break, by the names they use."""

import math

import pytest

from apps.core.records import MetricRow
from apps.metrics import naming, services, store
from apps.runs import store as runs
from tests.metric_samples import T0_NS, S

pytestmark = pytest.mark.django_db
NAN = math.nan


@pytest.fixture
def run():
    run_id = runs.ensure_run("watched")
    runs.open_attempt(run_id, 0, T0_NS)
    return run_id


def rows(first, last, values):
    return [MetricRow(step, T0_NS + step * S, values(step)) for step in range(first, last)]


def megatron(step):
    return {"lm loss": 3.0 + 0.02 * (step % 5), "grad-norm": 1.0, "learning-rate": 1e-4,
            "loss-scale": 65536.0}  # fmt: skip


def hugging_face(step):
    return {"train/loss": 3.0 + 0.02 * (step % 5), "train/grad_norm": 1.0,
            "train/learning_rate": 1e-4, "train/global_step": step, "train/epoch": 0.5}  # fmt: skip


def judged(run, healthy, odd):
    store.write_rows(run, 0, [*rows(0, 100, healthy), *odd], source="test")
    return [(f.kind, str(f.severity), f.onset_step) for f in services.detect(run, 0, 0)]


def test_a_row_without_its_lm_loss_is_a_loss_that_is_no_number(run):
    odd = rows(100, 104, lambda step: {"grad-norm": NAN, "learning-rate": 1e-4, "loss-scale": 1.0})
    assert ("nonfinite", "page", 100) in judged(run, megatron, odd)


def test_a_row_that_logs_no_loss_on_purpose_is_none(run):
    odd = rows(100, 104, lambda step: {"grad-norm": 1.0, "learning-rate": 1e-4})
    assert judged(run, megatron, odd) == []


def test_a_loss_of_zero_beside_a_gradient_of_nan_is_no_good_loss(run):
    odd = rows(100, 104, lambda step: {**hugging_face(step), "train/loss": 0.0,
                                       "train/grad_norm": NAN})  # fmt: skip
    assert ("nonfinite", "page", 100) in judged(run, hugging_face, odd)


def test_the_summary_at_the_end_of_a_training_is_no_row_of_it(run):
    end = {"train/train_loss": 9.9, "train/train_runtime": 812.0, "train/total_flos": 1e18,
           "train/train_samples_per_second": 4.0, "train/global_step": 99}  # fmt: skip
    assert judged(run, hugging_face, rows(99, 101, lambda step: end)) == []
    assert naming.roles_of(run).loss == "train/loss"


def test_the_loss_of_an_evaluation_is_none_of_the_training(run):
    odd = rows(100, 130, lambda step: {"eval/loss": 30.0, "eval/runtime": 5.0})
    assert judged(run, hugging_face, odd) == []
    assert naming.roles_of(run).eval_loss == "eval/loss"
