"""Which series are statistics of the model, and how far each must move to count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from apps.metrics.domain.bank import Demand
from apps.metrics.domain.layer_keys import LayerKey, Recogniser, recogniser
from apps.metrics.domain.layer_statistics import BY_SLUG, ORDER, spoken, statistic_of
from apps.metrics.domain.roles import FROM_LOG, NOT_MODEL

MAX_WATCHED = 8_192
ATTENTION_LIMIT = 100.0
"""Above it an attention logit is an alarm whatever was usual: QK-clip's threshold (Kimi K2)."""

_WEIGHTS = Demand(excess=0.05, far_need=4)
_SMOOTH = Demand(excess=0.15)
_ROUGH = Demand(excess=0.30)
_WILD = Demand(excess=0.50)
DEMANDS: Mapping[str, Demand] = {
    "grad_norm": _ROUGH, "grad_rms": _ROUGH, "grad_max": _WILD, "grad_std": _ROUGH,
    "update_ratio": _SMOOTH, "update_norm": _SMOOTH,
    "act_rms": _SMOOTH, "act_norm": _SMOOTH, "act_max": _SMOOTH, "act_std": _SMOOTH,
    "attn_logit_max": Demand(excess=0.30, limit=ATTENTION_LIMIT),
    "attn_entropy": _SMOOTH, "out_logit_max": _SMOOTH,
    "weight_norm": _WEIGHTS, "weight_rms": _WEIGHTS, "weight_max": _ROUGH, "weight_std": _WEIGHTS,
    "moment_norm": _ROUGH, "variance_norm": _WILD, "variance_max": _WILD,
    "router_load": _WILD, "router_loss": _ROUGH, "router_entropy": _SMOOTH, "nonfinite": _WILD,
}  # fmt: skip
"""Statistics that have a level to leave. Means and minima swing around 0 and are left out. A weight
never jumps by itself and comes back by no healing, so a few values are enough there."""
_OF_THE_LOSS = frozenset({"grad_norm"})
"""Of the whole job these belong to the detector of the loss."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A series of the model. layer: what its name says, None for the whole job."""

    statistic: str
    layer: LayerKey | None

    @property
    def demand(self) -> Demand:
        """How far it must move."""
        return DEMANDS[self.statistic]

    @property
    def place(self) -> str | None:
        """ "layer 12", None outside the layers."""
        return None if self.layer is None or self.layer.layer is None else self.layer.place

    @property
    def words(self) -> str:
        """ "layer 12, mlp.up_proj, grad norm"."""
        return BY_SLUG[self.statistic].words if self.layer is None else self.layer.words

    @property
    def order(self) -> int:
        """Which statistics are watched first where there are too many."""
        return ORDER[self.statistic]


def watched(name: str, reader: Recogniser) -> Watched | None:
    """What a series is, None if it is no statistic that has a level. Numbers read from log lines
    repeat others and are left out."""
    if name.startswith(FROM_LOG) or NOT_MODEL.search(spoken(name)):
        return None
    layer = reader.recognise(name)
    if layer is not None:
        return Watched(layer.statistic, layer) if layer.statistic in DEMANDS else None
    statistic = statistic_of(name.rpartition("/")[2])
    if statistic is None or statistic not in DEMANDS or statistic in _OF_THE_LOSS:
        return None
    return Watched(statistic, None)


@lru_cache(maxsize=256)
def has_watched(names: tuple[str, ...]) -> bool:
    """Whether one of the names is watched by the built-in rules."""
    reader = recogniser()
    return any(watched(name, reader) is not None for name in names)
