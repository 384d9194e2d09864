"""How many steps a run wants to make, from its configuration. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMES = (
    "max_steps",
    "train_iters",
    "total_steps",
    "max_iters",
    "num_train_steps",
    "training_steps",
)
"""As Hugging Face, Megatron, torchtitan and their like call it; the first that says one counts."""


def target_step(config: Mapping[str, Any]) -> int | None:
    """The step at which the schedule ends; None if the configuration does not say. Values that are
    no positive whole numbers count as nothing: -1 is "no limit" to some."""
    for name in NAMES:
        value = config.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 2**53:
            return int(value)
    return None
