"""What is measured of a layer, and under which words it is logged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from apps.metrics.domain.templates import MAX_STATISTIC_CHARS


@dataclass(frozen=True, slots=True)
class Statistic:
    """slug: how it is stored and asked for. words: for people. norm: parts of a layer add up as
    the root of the sum of squares; other statistics show their largest part. aliases: as logged,
    lower case, with "_", "-" and " " read as the same."""

    slug: str
    words: str
    aliases: tuple[str, ...]
    norm: bool = False


# The order is that of measured lead and use: the first one that a run logs is shown first.
STATISTICS = (
    Statistic("grad_norm", "grad norm", (
        "grad norm", "grads norm", "grad norms", "gradnorm", "gradient norm", "gradient norms",
        "gnorm", "grad l2", "grad l2 norm", "norm grad", "l2 norm grad",
    ), norm=True),
    Statistic("update_ratio", "update ratio", (
        "update ratio", "update to weight", "update to weight ratio", "update weight ratio",
        "update to param ratio", "ud ratio", "update data ratio", "relative update",
    )),
    Statistic("update_norm", "update norm", (
        "update norm", "updates norm", "update norms", "step norm",
    ), norm=True),
    Statistic("act_rms", "activation rms", (
        "act rms", "activation rms", "activations rms", "rms act", "hidden rms", "output rms",
    )),
    Statistic("act_norm", "activation norm", (
        "act norm", "activation norm", "activations norm", "hidden norm", "output norm",
    )),
    Statistic("act_max", "activation max", (
        "act max", "activation max", "activations max", "max act", "max activation", "act absmax",
        "act max abs", "activation max abs",
    )),
    Statistic("act_std", "activation std", ("act std", "activation std", "activations std")),
    Statistic("act_mean", "activation mean", ("act mean", "activation mean", "activations mean")),
    Statistic("attn_logit_max", "attention logit max", (
        "attn logit max", "attention logit max", "attn logits max", "attention logits max",
        "max attn logit", "max attention logit", "max attn logits", "max attention logits",
        "max logits", "qk max",
    )),
    Statistic("attn_entropy", "attention entropy", ("attn entropy", "attention entropy")),
    Statistic("out_logit_max", "output logit max", (
        "out logit max", "out logits max", "output logits max", "max out logit",
        "max output logit", "logit max", "logits max",
    )),
    Statistic("weight_norm", "weight norm", (
        "weight norm", "weights norm", "weight norms", "param norm", "params norm", "param norms",
        "parameter norm", "parameters norm", "parameter norms", "w norm",
    ), norm=True),
    Statistic("grad_rms", "gradient rms", ("grad rms", "gradient rms", "gradients rms")),
    Statistic("grad_max", "gradient max", (
        "grad max", "gradient max", "max grad", "grad absmax", "grad max abs", "gradient max abs",
    )),
    Statistic("grad_mean", "gradient mean", ("grad mean", "gradient mean", "grad avg")),
    Statistic("grad_std", "gradient std", ("grad std", "gradient std")),
    Statistic("grad_min", "gradient min", ("grad min", "gradient min")),
    Statistic("grad_zeros", "zeros in the gradient", (
        "grad zeros", "pct grad zeros", "num zeros", "grad sparsity",
    )),
    Statistic("weight_rms", "weight rms", ("weight rms", "param rms", "parameter rms")),
    Statistic("weight_max", "weight max", (
        "weight max", "param max", "weight absmax", "weight max abs",
    )),
    Statistic("weight_mean", "weight mean", ("weight mean", "param mean", "param avg")),
    Statistic("weight_std", "weight std", ("weight std", "param std", "parameter std")),
    Statistic("weight_min", "weight min", ("weight min", "param min")),
    Statistic("moment_norm", "Adam m norm", ("moment norm", "exp avg norm", "momentum norm"),
              norm=True),
    Statistic("variance_norm", "Adam v norm", (
        "variance norm", "exp avg sq norm", "second moment norm",
    ), norm=True),
    Statistic("variance_max", "Adam v max", ("variance max", "exp avg sq max", "adam v max")),
    Statistic("router_load", "router load", (
        "load imbalance", "maxvio", "max violation", "max vio", "load balance", "expert load",
    )),
    Statistic("router_loss", "router loss", (
        "load balancing loss", "router loss", "router z loss", "z loss", "aux loss",
        "seq load balancing loss", "global load balancing loss", "lb loss", "router aux loss",
    )),
    Statistic("router_entropy", "router entropy", ("router entropy", "gate entropy")),
    Statistic("nonfinite", "non-finite values", (
        "nan count", "inf count", "nonfinite", "nonfinite count", "num nan", "num inf",
    )),
)  # fmt: skip


@lru_cache(maxsize=1 << 16)
def spoken(name: str) -> str:
    """Lower case, with "_", "-" and spaces read as the same: "Grad-Norm" -> "grad norm"."""
    return re.sub(r"[\s_\-]+", " ", name.strip().lower())


BY_SLUG = {one.slug: one for one in STATISTICS}
ORDER = {one.slug: place for place, one in enumerate(STATISTICS)}
_BY_ALIAS = {alias: one.slug for one in STATISTICS for alias in (*one.aliases, spoken(one.words))}


def statistic_of(word: str) -> str | None:
    """The slug of the statistic that is logged as `word`, None if it is no known one."""
    return _BY_ALIAS.get(spoken(word)) if len(word) <= MAX_STATISTIC_CHARS else None
