"""metrics.domain.roles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.metrics.domain.roles import guess, local_losses, model_signals


@pytest.mark.parametrize(
    ("keys", "loss", "grad_norm", "lr"),
    [
        (["train/loss", "train/grad_norm", "train/lr", "val/loss"],
         "train/loss", "train/grad_norm", "train/lr"),
        (["train/loss", "train/grad_norm", "train/learning_rate", "train/train_loss"],
         "train/loss", "train/grad_norm", "train/learning_rate"),
        (["lm loss", "grad-norm", "learning-rate", "loss-scale"],
         "lm loss", "grad-norm", "learning-rate"),
        (["train_inner/loss", "train_inner/gnorm", "train_inner/lr"],
         "train_inner/loss", "train_inner/gnorm", "train_inner/lr"),
        (["Train Loss", "Learning Rate"], "Train Loss", None, "Learning Rate"),
        (["gpt/train_loss", "val/train_loss"], "gpt/train_loss", None, None),
        (["val/loss", "eval/loss", "rank/loss"], None, None, None),
        (["grad_norm/layers.0", "param_norm/head"], None, None, None),
        ([], None, None, None),
    ],
)  # fmt: skip
def test_the_usual_names(keys, loss, grad_norm, lr):
    found = guess(keys)
    assert (found.loss, found.grad_norm, found.lr) == (loss, grad_norm, lr)


@given(st.permutations(["loss", "train/loss", "train_loss", "lm_loss", "x/loss", "lr", "gnorm"]))
def test_the_order_of_the_keys_does_not_matter(keys):
    assert guess(keys) == guess(sorted(keys))
    assert guess(keys).loss == "train/loss"


def test_the_best_known_local_loss_comes_first():
    keys = ["rank/data_time", "rank/loss", "rank/local_loss"]
    assert local_losses(keys) == ["rank/local_loss", "rank/loss"]


def test_speed_counters_and_evaluations_say_nothing_about_the_model():
    model = ["act_max/layers.0", "grad_norm/layers.1", "train/loss", "update_ratio/head"]
    others = ["perf/step_time", "system/gpu.0.temp", "train/tokens", "val/loss", "epoch"]
    assert model_signals([*others, *model]) == model


def test_a_number_read_from_a_log_line_counts_only_where_there_is_no_other():
    roles = guess(["log/lm loss", "log/grad norm", "model/loss"])
    assert (roles.loss, roles.grad_norm) == ("model/loss", "log/grad norm")
    assert guess(["log/lm loss", "log/validation/loss"]).loss == "log/lm loss"


def test_numbers_read_from_log_lines_are_no_second_signal():
    assert model_signals(["log/lm loss", "train/loss"]) == ["train/loss"]
    assert model_signals(["log/lm loss", "log/elapsed time"]) == ["log/lm loss"]
