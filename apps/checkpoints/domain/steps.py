"""The step of a checkpoint, read from names that frameworks give to directories and files. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

MAX_STEP: Final = 2**62
# step-1000 (torchtitan, litgpt), step1000 (OLMo-core), global_step1000 (DeepSpeed), iter_0001000
# (Megatron), checkpoint-1000 (HF Trainer), step=1000 (Lightning, NeMo).
_NAMED: Final = re.compile(
    r"(?<![a-z])(?:(?:global[-_]?)?step|iter(?:ation)?|(?P<plain>checkpoint|ckpt))"
    r"[-_=]?(?P<step>\d{1,18})(?![0-9a-z])",
    re.IGNORECASE,
)
_ALONE: Final = re.compile(r"\d{1,18}")
_FOLDER: Final = re.compile(r"checkpoint|ckpt", re.IGNORECASE)


def step_of_name(name: str) -> int | None:
    """The step one name speaks of; None if it does not.

    "step" and "iter" go before "checkpoint", the last of the same kind counts. An epoch is no step.
    """
    found = list(_NAMED.finditer(name[-500:]))
    best = [m for m in found if m["plain"] is None] or found
    return int(best[-1]["step"]) if best else None


def step_of_parts(parts: Sequence[str]) -> tuple[int, int] | None:
    """(position, step) of the last part of a path that names a step.

    A bare number is one in a folder that is called after checkpoints (Orbax: checkpoints/200).
    """
    for at in range(len(parts) - 1, -1, -1):
        step = step_of_name(parts[at])
        if step is None and at and _ALONE.fullmatch(parts[at]) and _FOLDER.search(parts[at - 1]):
            step = int(parts[at])
        if step is not None:
            return at, step
    return None
