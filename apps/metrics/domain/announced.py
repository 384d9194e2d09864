"""What a run's configuration announces of its training: warm-up and curriculum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apps.core.words import number
from apps.metrics.domain.planned import MAX_STEP, PlannedChange

# Names as written by Hugging Face Trainer, Megatron-LM, NeMo, DeepSpeed, OLMo, torchtitan, nanoGPT
# and Levanter; the last part of a nested name counts, lower-cased, "-" read as "_".
WARM_UP_STEPS = frozenset(
    {
        "warmup_steps",
        "num_warmup_steps",
        "lr_warmup_iters",
        "warmup_iters",
        "lr_warmup_steps",
        "t_warmup",
        "warmup_num_steps",
    }
)
CURRICULUM_STEPS = frozenset(
    {"total_curriculum_step", "curriculum_steps", "seqlen_warmup_steps", "curriculum_end_step"}
)
MAX_DEPTH = 6
MAX_NAMES = 5_000


def from_config(config: Mapping[str, Any]) -> tuple[PlannedChange, ...]:
    """The changes that a run's configuration announces, the longest one of each kind.

    config: as the run logged it, nested or with dots. Steps that are no whole number above 0 say
    nothing. Looks at no more than MAX_NAMES names, MAX_DEPTH deep.
    """
    longest: dict[str, tuple[int, str]] = {}
    for name, value in leaves(config):
        kind = _kind_of(name)
        steps = value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0
        if kind and 1 <= steps <= MAX_STEP and int(steps) > longest.get(kind, (0, ""))[0]:
            longest[kind] = (int(steps), name)
    return tuple(
        PlannedChange(kind, 0, steps, f"{name} = {number(steps)}", "config")
        for kind, (steps, name) in sorted(longest.items())
    )


def _kind_of(name: str) -> str:
    last = name.replace("/", ".").rpartition(".")[2].lower().replace("-", "_")
    if last in WARM_UP_STEPS:
        return "warm_up"
    return "curriculum" if last in CURRICULUM_STEPS else ""


def leaves(config: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """(dotted name, value) of a configuration; at most MAX_NAMES of them, MAX_DEPTH deep."""
    todo: list[tuple[str, Any, int]] = [(str(key), value, 1) for key, value in config.items()]
    for at, (name, value, depth) in enumerate(todo):
        if at >= MAX_NAMES:
            return
        if isinstance(value, Mapping):
            if depth < MAX_DEPTH:
                todo += [(f"{name}.{key}", inner, depth + 1) for key, inner in value.items()]
        else:
            yield name, value
