"""The rules that read per-layer metric names, in order: a table, and words to look past.

`docs/metrics.md` shows it; a project may put rules of its own before it.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.core.errors import AppError
from apps.metrics.domain.layer_statistics import BY_SLUG
from apps.metrics.domain.templates import Template, parse

MAX_OWN_RULES = 50


@dataclass(frozen=True, slots=True)
class Rule:
    """Names of the form `pattern` speak of `statistic`; "": of what {statistic} says.

    source: who writes such names.
    """

    pattern: str
    statistic: str = ""
    source: str = ""


RULES = (
    Rule("gradients/{module}/norm", "grad_norm", "wandb.watch, from its histogram"),
    Rule("gradients/{module}/rms", "grad_rms", "wandb.watch, from its histogram"),
    Rule("gradients/{module}/max_abs", "grad_max", "wandb.watch, from its histogram"),
    Rule("gradients/{module}/mean", "grad_mean", "wandb.watch, from its histogram"),
    Rule("gradients/{module}/std", "grad_std", "wandb.watch, from its histogram"),
    Rule("parameters/{module}/norm", "weight_norm", "wandb.watch, from its histogram"),
    Rule("parameters/{module}/rms", "weight_rms", "wandb.watch, from its histogram"),
    Rule("parameters/{module}/max_abs", "weight_max", "wandb.watch, from its histogram"),
    Rule("parameters/{module}/mean", "weight_mean", "wandb.watch, from its histogram"),
    Rule("parameters/{module}/std", "weight_std", "wandb.watch, from its histogram"),
    Rule("grad_{number}_norm/{module}", "grad_norm", "Lightning grad_norm()"),
    Rule("grad_{number}_norm_{module}", "grad_norm", "Lightning 1.x track_grad_norm"),
    Rule("l2_norm/grad/{module}", "grad_norm", "Composer, Megatron Bridge"),
    Rule("l2_norm/param/{module}", "weight_norm", "Composer, Megatron Bridge"),
    Rule("l2_norm/update/{module}", "update_norm", "Composer"),
    Rule("l2_norm/moment/{module}", "moment_norm", "Composer"),
    Rule("activations/l2_norm/{module}", "act_norm", "Composer"),
    Rule("activations/max/{module}", "act_max", "Composer"),
    Rule("activations/average/{module}", "act_mean", "Composer"),
    Rule("grad/norm/{module}", "grad_norm", "Levanter"),
    Rule("params/norm/{module}", "weight_norm", "Levanter"),
    Rule("updates/norm/{module}", "update_norm", "Levanter"),
    Rule("grad/{module}.norm", "grad_norm", "OLMo"),
    Rule("grad/{module}.max", "grad_max", "OLMo"),
    Rule("grad/{module}.avg", "grad_mean", "OLMo"),
    Rule("grad/{module}.min", "grad_min", "OLMo"),
    Rule("param/{module}.norm", "weight_norm", "OLMo"),
    Rule("param/{module}.max", "weight_max", "OLMo"),
    Rule("param/{module}.avg", "weight_mean", "OLMo"),
    Rule("param/{module}.min", "weight_min", "OLMo"),
    Rule("update/{module}.norm", "update_norm", "OLMo"),
    Rule("exp_avg/{module}.norm", "moment_norm", "OLMo"),
    Rule("exp_avg_sq/{module}.norm", "variance_norm", "OLMo"),
    Rule("exp_avg_sq/{module}.max", "variance_max", "OLMo"),
    Rule("moe/{statistic}_layer_{layer}", "", "Megatron-LM, NeMo"),
    Rule("block {layer}/{statistic}", "", "OLMo-core"),
    Rule("{statistic}_layer_{layer}", "", "Megatron-LM, own scripts"),
    Rule("{statistic}_layer{layer}", "", "own scripts"),
    Rule("{statistic}_l{layer}", "", "own scripts"),
    Rule("layer_{layer}_{statistic}", "", "own scripts"),
    Rule("layer{layer}_{statistic}", "", "own scripts"),
    Rule("{statistic}/layer_{layer}/{module}", "", "own scripts"),
    Rule("{statistic}/{layer}/{module}", "", "own scripts"),
    Rule("{statistic}/L{layer}", "", "own scripts"),
    Rule("{statistic}/{layer}", "", "nanoGPT-like scripts"),
    Rule("{statistic}/{module}", "", "HF, torchtitan, GPT-NeoX, NeMo, own scripts"),
    Rule("{module}/{statistic}", "", "HF, torchtitan, NeMo, own scripts"),
    Rule("{module}.{statistic}", "", "own scripts"),
)

PREFIXES = frozenset({
    "train", "training", "metrics", "debug", "diagnostics", "monitor", "model_stats", "stats",
    "optim", "optimizer", "per_layer", "layerwise", "layers_stats",
})  # fmt: skip
"""First parts of a name that say nothing about the layer; the built-in rules look behind them."""

WRAPPERS = frozenset({
    "model", "module", "transformer", "gpt_neox", "gpt", "backbone", "network", "net",
    "base_model", "language_model", "llm", "causal_lm", "bert", "lm",
})  # fmt: skip
"""First parts of a module path that only wrap the network."""

DEEP_WRAPPERS = frozenset({
    "_orig_mod", "_fsdp_wrapped_module", "_forward_module", "_checkpoint_wrapped_module",
})  # fmt: skip
"""The same, wherever they stand: compile, FSDP, Lightning, activation checkpointing."""

OUTSIDE = frozenset({
    "tok", "tok_emb", "tok_embeddings", "embed", "embedding", "emb", "embed_tokens", "embed_in",
    "word_embeddings", "wte", "wpe", "pos", "pos_emb", "pos_embed", "position_embeddings",
    "shared", "norm", "ln_f", "final_norm", "final_layernorm", "final_layer_norm", "norm_f",
    "ln_final", "head", "lm_head", "output", "output_layer", "unembed", "embed_out", "ff_out",
    "score", "classifier",
})  # fmt: skip
"""Modules before and behind the layers."""


def checked(rule: Rule) -> Template:
    """The template of a rule; AppError if the rule could name no statistic or no place."""
    template = parse(rule.pattern)
    if rule.statistic and rule.statistic not in BY_SLUG:
        raise AppError(f'"{rule.statistic[:40]}" is no statistic', where="statistic")
    if bool(rule.statistic) == ("statistic" in template.holes):
        raise AppError(
            "the statistic must be known once: choose it, or write {statistic}", where="pattern"
        )
    if not {"layer", "module"} & set(template.holes):
        raise AppError(
            "the pattern names no place in the network",
            where="pattern",
            hint="write {layer} for the number of the layer, or {module}",
        )
    return template
