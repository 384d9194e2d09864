"""metrics.domain.roles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.metrics.domain.roles import ROLES, guess, local_losses, model_signals, resolve


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


FRAMEWORKS = {
    "Hugging Face": ("train/loss train/grad_norm train/learning_rate eval/loss train/global_step "
                     "train/train_loss train/train_runtime",
                     {"loss": "train/loss", "grad_norm": "train/grad_norm",
                      "lr": "train/learning_rate", "eval_loss": "eval/loss"}),
    "Lightning": ("train_loss lr-AdamW grad_2.0_norm_total val_loss trainer/global_step epoch",
                  {"loss": "train_loss", "lr": "lr-AdamW", "grad_norm": "grad_2.0_norm_total",
                   "eval_loss": "val_loss", "epoch": "epoch"}),
    "Megatron-LM": ("lm_loss grad-norm learning-rate loss-scale iteration-time lm_loss_validation",
                    {"loss": "lm_loss", "grad_norm": "grad-norm", "lr": "learning-rate",
                     "loss_scale": "loss-scale", "step_time": "iteration-time",
                     "eval_loss": "lm_loss_validation"}),
    "Megatron-DeepSpeed": ("lm-loss-training/lm loss|grad-norm/grad-norm|lm-loss-validation/lm loss"
                           "|learning-rate/learning-rate|iteration-time/iteration-time",
                           {"loss": "lm-loss-training/lm loss", "grad_norm": "grad-norm/grad-norm",
                            "step_time": "iteration-time/iteration-time",
                            "eval_loss": "lm-loss-validation/lm loss",
                            "lr": "learning-rate/learning-rate"}),
    "NeMo": ("reduced_train_loss|lr|grad_norm|train_step_timing in s|val_loss|global_step",
             {"loss": "reduced_train_loss", "lr": "lr", "grad_norm": "grad_norm",
              "step_time": "train_step_timing in s", "eval_loss": "val_loss"}),
    "GPT-NeoX": ("train/lm_loss train/learning_rate train/loss_scale runtime/iteration_time",
                 {"loss": "train/lm_loss", "lr": "train/learning_rate",
                  "loss_scale": "train/loss_scale", "step_time": "runtime/iteration_time"}),
    "torchtitan": ("loss_metrics/global_avg_loss loss_metrics/global_max_loss grad_norm lr "
                   "throughput(tps) time_metrics/end_to_end(s) validation_metrics/loss",
                   {"loss": "loss_metrics/global_avg_loss", "grad_norm": "grad_norm", "lr": "lr",
                    "tokens_per_s": "throughput(tps)", "step_time": "time_metrics/end_to_end(s)",
                    "eval_loss": "validation_metrics/loss"}),
    "OLMo": ("train/CrossEntropyLoss optim/total_grad_norm optim/learning_rate_group0 "
             "throughput/device/tokens_per_second",
             {"loss": "train/CrossEntropyLoss", "grad_norm": "optim/total_grad_norm",
              "lr": "optim/learning_rate_group0",
              "tokens_per_s": "throughput/device/tokens_per_second"}),
    "OLMo-core": ("train/CE loss|optim/total grad norm|optim/LR|throughput/device/TPS",
                  {"loss": "train/CE loss", "grad_norm": "optim/total grad norm", "lr": "optim/LR",
                   "tokens_per_s": "throughput/device/TPS"}),
    "Composer": ("loss/train/total l2_norm/grad/global lr-DecoupledAdamW/group0 "
                 "throughput/tokens_per_sec",
                 {"loss": "loss/train/total", "grad_norm": "l2_norm/grad/global",
                  "lr": "lr-DecoupledAdamW/group0", "tokens_per_s": "throughput/tokens_per_sec"}),
    "nanoGPT": ("iter train/loss val/loss lr mfu",
                {"loss": "train/loss", "lr": "lr", "eval_loss": "val/loss"}),
}  # fmt: skip


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_role_of_the_usual_frameworks_is_guessed(framework):
    names, expected = FRAMEWORKS[framework]
    found = guess(names.split("|") if "|" in names else names.split())
    assert {slug: name for slug, name in found.every().items() if name} == expected


def test_a_name_that_somebody_gave_counts_where_it_is_logged():
    guessed = guess(["train/loss", "mine"])
    assert resolve(guessed, {"loss": "mine"}, ["train/loss", "mine"]).loss == "mine"
    assert resolve(guessed, {"loss": "absent"}, ["train/loss", "mine"]).loss == "train/loss"
    assert resolve(guessed, {"loss": None}, ["train/loss"]).loss is None


@given(st.lists(st.text(max_size=30), max_size=8))
def test_no_names_break_the_guess(keys):
    found = guess(keys, keys)
    assert {name for name in found.every().values() if name} <= set(keys)


def test_each_role_says_what_it_is_for():
    assert all(role.help and role.words for role in ROLES)
    assert [role.slug for role in ROLES] == list(guess([]).every())


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


def test_a_part_of_a_step_on_one_rank_says_nothing_about_the_model():
    """A loader that hesitated before an incident must not push a good checkpoint out of reach."""
    times = [
        "rank/data_time",
        "rank/compute_time",
        "rank/perf/fwd",
        "data_time",
        "rank/tokens_per_s",
    ]
    assert model_signals([*times, "rank/local_loss", "rank/grad_norm"]) == [
        "rank/grad_norm",
        "rank/local_loss",
    ]


def test_a_number_read_from_a_log_line_counts_only_where_there_is_no_other():
    roles = guess(["log/lm loss", "log/grad norm", "model/loss"])
    assert (roles.loss, roles.grad_norm) == ("model/loss", "log/grad norm")
    assert guess(["log/lm loss", "log/validation/loss"]).loss == "log/lm loss"


def test_numbers_read_from_log_lines_are_no_second_signal():
    assert model_signals(["log/lm loss", "train/loss"]) == ["train/loss"]
    assert model_signals(["log/lm loss", "log/elapsed time"]) == ["log/lm loss"]
