"""Every framework with its plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from apps.rollbacks.domain.branching import (
    dcp,
    deepspeed,
    hf_trainer,
    lightning,
    litgpt,
    megatron,
    nemo,
    olmo_core,
    orbax,
    plain,
    torchtitan,
)
from apps.rollbacks.domain.branching.find import framework_of
from apps.rollbacks.domain.branching.shapes import BranchPlan, Chosen

_PLANS: dict[str, tuple[str, Callable[[Chosen], BranchPlan]]] = {
    "hf_trainer": (hf_trainer.TITLE, hf_trainer.plan),
    "megatron": (megatron.TITLE, megatron.plan),
    "deepspeed": (deepspeed.TITLE, deepspeed.plan),
    "torchtitan": (torchtitan.TITLE, torchtitan.plan),
    "dcp": (dcp.TITLE, dcp.plan),
    "lightning": (lightning.TITLE, lightning.plan),
    "nemo": (nemo.TITLE, nemo.plan),
    "olmo_core": (olmo_core.TITLE, olmo_core.plan),
    "orbax": (orbax.TITLE, orbax.plan),
    "maxtext": (orbax.MAXTEXT_TITLE, orbax.maxtext),
    "litgpt": (litgpt.TITLE, litgpt.plan),
    "plain": (plain.TITLE, plain.plan),
}
FRAMEWORKS = tuple(_PLANS)


def plan(chosen: Chosen, framework: str | None = None) -> BranchPlan:
    """How to start from a checkpoint so that later restarts neither undo nor repeat it.

    framework: one of FRAMEWORKS; None: told from the names (`find.framework_of`).
    """
    found = framework or framework_of(chosen.uri, chosen.names)
    title, planned = _PLANS[found]
    return replace(planned(chosen), title=title)
