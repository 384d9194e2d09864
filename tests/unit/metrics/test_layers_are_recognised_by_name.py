"""metrics.domain.layer_keys, layer_rules, layer_preview."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.metrics.domain.layer_keys import recogniser
from apps.metrics.domain.layer_preview import preview
from apps.metrics.domain.layer_rules import RULES, Rule, checked
from apps.metrics.domain.layer_statistics import STATISTICS, statistic_of
from tests.costs import cost_s

LAYERS = """
grad_norm/layers.12|layer 12, grad norm
grad_norm/tok|tok, grad norm
model.layers.12.mlp.up_proj/grad_norm|layer 12, mlp.up_proj, grad norm
layers.12.mlp.grad_norm|layer 12, mlp, grad norm
gradients/model.layers.1.mlp.up_proj.weight/norm|layer 1, mlp.up_proj weight, grad norm
gradients/graph_1layers.0.weight/rms|layer 0, weight, gradient rms
parameters/transformer.h.3.attn.c_attn.bias/std|layer 3, attn.c_attn bias, weight std
parameters/transformer.wte.weight/norm|wte, weight, weight norm
grad_2.0_norm/model.layers.3.attn.q.weight|layer 3, attn.q weight, grad norm
grad_2.0_norm_layers.0.weight|layer 0, weight, grad norm
l2_norm/grad/model.transformer.blocks.0.attn.Wqkv.weight|layer 0, attn.Wqkv weight, grad norm
l2_norm/param/layer_2|layer 2, weight norm
optim/grad/transformer.blocks.0.att_proj.weight.norm|layer 0, att_proj weight, grad norm
optim/exp_avg_sq/transformer.blocks.0.att_proj.weight.max|layer 0, att_proj weight, Adam v max
moe/load_balancing_loss_layer_3|layer 3, router loss
train/block 03/load imbalance|layer 3, router load
gradient_norms/sequential.5.mlp.dense.weight|sequential layer 5, mlp.dense weight, grad norm
parameter_norms/gpt_neox.layers.4.mlp.dense.weight|layer 4, mlp.dense weight, weight norm
grad_norm/decoder.block.3.layer.0.SelfAttn.q|decoder layer 3, layer.0.SelfAttn.q, grad norm
encoder.layer.3.attn.self.query.weight/grad_norm|encoder layer 3, attn.self.query weight, grad norm
train/grad_norm/blocks.3|layer 3, grad norm
_orig_mod.layers.3._checkpoint_wrapped_module.w1/grad_norm|layer 3, w1, grad norm
vision_tower.encoder.layers.3.mlp/grad_norm|vision_tower.encoder layer 3, mlp, grad norm
grad_norm/model.norm.weight|norm, weight, grad norm
activation_rms/12|layer 12, activation rms
Update-Ratio/h.7|layer 7, update ratio
max_attention_logit/layers.3|layer 3, attention logit max
grad_norm/layers.4.experts.7.w1|layer 4, experts.7.w1, grad norm
pp_rank_3/grad_norm/decoder.layers.2.mlp.fc1|stage 3, local decoder layer 2, mlp.fc1, grad norm
grad_norm/pp_rank_1/vpp_0/layers.2|stage 1 chunk 0, local layer 2, grad norm
model_chunk_1.layers.2/grad_norm|chunk 1, local layer 2, grad norm
"""
PAIRS = [tuple(map(str.strip, line.split("|"))) for line in LAYERS.strip().splitlines()]
OTHERS = [
    "train/loss", "val/loss", "rank/loss", "grad_norm", "train/grad_norm", "optim/total_grad_norm",
    "grad_norm/total", "grad_norm/grad_norm", "l2_norm/grad/global", "grad_2.0_norm_total",
    "perf/step_time", "system/gpu.0.temp", "eval/layers.3", "layers.3", "lr/group_0",
    "gradients/layers.3.weight", "throughput(tps)", "moe/tokens_layer_3", "",
]  # fmt: skip
NAMES = st.text(st.sampled_from("ab/._-{}layers0123grd nom\x00é"), max_size=60) | st.text()


@pytest.mark.parametrize(("name", "words"), PAIRS)
def test_each_naming_is_read(name, words):
    assert recogniser().recognise(name).words == words


@pytest.mark.parametrize("name", OTHERS)
def test_other_names_are_left_alone(name):
    assert recogniser().recognise(name) is None


def test_a_number_inside_a_pipeline_stage_is_flagged():
    local, whole = (
        recogniser().recognise(name) for name in ("grad_norm/pp_1/layers.2", "grad_norm/layers.2")
    )
    assert (local.local, local.stage, whole.local) == (True, "stage 1", False)


@given(NAMES)
def test_no_name_breaks_it(name):
    found = recogniser().recognise(name)
    assert found is None or found.words


@given(st.sampled_from([name for name, _ in PAIRS]), st.permutations(range(3)))
def test_the_first_rule_that_fits_counts_in_any_order_of_asking(name, order):
    own = (Rule("{any}.{layer}.{any}", "act_max"), Rule("{any}s.{layer}", "act_std"))
    reader = recogniser(own)
    answers = [next(reader.readings(name)) for _ in order]
    assert answers == [reader.recognise(name)] * 3


def test_a_hundred_times_the_name_costs_about_a_hundred_times_as_much():
    reader = recogniser()

    def cost(times):
        return cost_s(lambda: reader.recognise("a.layers_/" * times))

    assert cost(20_000) < 1_000 * cost(200) + 0.01


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.pattern)
def test_each_built_in_rule_can_be_checked_and_says_who_writes_such_names(rule):
    checked(rule)
    assert rule.source


def test_each_built_in_rule_is_reached_by_a_name():
    holes = {"module": "layers.3.mlp", "layer": "3", "number": "2", "statistic": "act_std"}
    unreached = []
    for rule in RULES:
        name = re.sub(r"\{(\w+)\}", lambda hole: holes[hole[1]], rule.pattern)
        if recogniser().recognise(name).rule != rule.pattern:
            unreached.append((name, recogniser().recognise(name).rule))
    assert unreached == []


def test_every_statistic_is_known_by_its_words_and_no_alias_is_used_twice():
    aliases = [alias for one in STATISTICS for alias in one.aliases]
    assert len(aliases) == len(set(aliases))
    assert [statistic_of(one.words) for one in STATISTICS] == [one.slug for one in STATISTICS]
    assert {one.slug for one in STATISTICS} == {
        statistic_of(one.slug) or one.slug for one in STATISTICS
    }


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (Rule("{statistic}/x", ""), "no place"),
        (Rule("{layer}", ""), "statistic"),
        (Rule("{statistic}/{layer}", "grad_norm"), "statistic"),
        (Rule("{layer}", "speed"), "no statistic"),
    ],
)
def test_a_rule_that_could_say_nothing_is_refused(rule, why):
    with pytest.raises(AppError, match=why):
        recogniser((rule,))


def test_an_own_rule_comes_first_and_sees_the_whole_name():
    own = (Rule("train/blk{layer}.{module}", "act_max"),)
    assert recogniser(own).recognise("train/blk7.ffn").words == "layer 7, ffn, activation max"
    assert recogniser().recognise("train/blk7.ffn") is None


def test_a_preview_shows_what_a_rule_would_change():
    names = ["x/blk1", "x/blk2", "grad_norm/layers.3", "train/loss"]
    own = (Rule("x/blk{layer}", "act_max"), Rule("{any}/blk{layer}", "act_std"))
    found = preview(names, own)

    assert {rule: [name for name, _ in hits] for rule, hits in found.by_rule.items()} == {
        "x/blk{layer}": ["x/blk1", "x/blk2"],
        "{statistic}/{module}": ["grad_norm/layers.3"],
    }
    assert found.unmatched == ["train/loss"]
    assert [(name, other.statistic) for name, _, other in found.conflicts] == [
        ("x/blk1", "act_std"),
        ("x/blk2", "act_std"),
    ]
    assert found.changed == 2
