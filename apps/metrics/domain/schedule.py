"""How long a run means to train, and how much compute that takes, as its configuration says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from apps.metrics.domain.announced import leaves
from apps.metrics.domain.planned import MAX_STEP
from apps.metrics.domain.sibling import CELLS, Floats

# Hugging Face Trainer, Megatron-LM and NeMo, Lightning, OLMo, torchtitan, nanoGPT, Levanter.
TOTAL_STEPS = (
    "max_steps",
    "train_iters",
    "max_iters",
    "num_train_steps",
    "max_train_steps",
    "total_steps",
    "num_iterations",
    "total_iterations",
    "training_steps",
    "train_steps",
    "lr_decay_iters",
    "decay_steps",
)
PARAMETERS = ("num_parameters", "n_params", "num_params", "parameters", "model_parameters")
TOKENS = ("total_tokens", "train_tokens", "num_tokens", "max_tokens", "training_tokens")
FLOPS_A_TOKEN = 6.0
"""Compute of a dense transformer is 6 x parameters x tokens. Source: Kaplan et al. 2020, 2.1."""


def total_steps(config: Mapping[str, Any]) -> int | None:
    """The steps of the whole schedule; None where the configuration does not say."""
    found = _first(config, TOTAL_STEPS)
    return int(found) if found is not None and found <= MAX_STEP else None


def compute_flops(config: Mapping[str, Any]) -> float | None:
    """Floating-point operations of the whole training; None where parameters or tokens are not
    said. Only the ratio between runs matters."""
    parameters, tokens = _first(config, PARAMETERS), _first(config, TOKENS)
    return FLOPS_A_TOKEN * parameters * tokens if parameters and tokens else None


def _first(config: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    """The value of the first of these names that is a number from 1 on."""
    said: dict[str, float] = {}
    for name, value in leaves(config):
        last = name.replace("/", ".").rpartition(".")[2].lower().replace("-", "_")
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 1:
            said.setdefault(last, float(value))
    return next((said[name] for name in names if name in said), None)


def shape_distance(own: Floats, other: Floats) -> float | None:
    """How far two learning-rate curves are apart at the same part of the schedule, as a share of
    their peaks: 0 the same shape, above about 0.2 another one. None where one of them is unknown.

    own, other: the learning rate by cell, NaN where it is not known; each is divided by its peak
    over the cells that both have.
    """
    both = np.isfinite(own) & np.isfinite(other)
    if both.sum() < CELLS // 20:
        return None
    first, second = own[both], other[both]
    if first.max() <= 0 or second.max() <= 0:
        return None
    return float(np.max(np.abs(first / first.max() - second / second.max())))
