"""Does a checkpoint hold the state of the optimizer? From the names it lists, nothing is opened."""

from __future__ import annotations

from collections.abc import Iterable

_NAMES = ("optim", "exp_avg")
_ONE_FILE_EACH = frozenset({"hf_trainer", "safetensors"})
"""Frameworks that write the optimizer into a file of its own name."""


def holds_optimizer(
    files: Iterable[str], framework: str, metadata: bytes | None = None
) -> bool | None:
    """Whether optimizer state is among the files; None if the names do not tell.

    True if a file is called after it (optimizer.pt, *_optim_states.pt, distrib_optim.pt) or the
    `.metadata` of DCP names such tensors. False only for frameworks that write it into a file of
    its own: elsewhere it may have any name. Source: the names in checkpoints of HF Trainer,
    DeepSpeed, Megatron and DCP.
    """
    names = [name.lower() for name in files]
    if any(word in name for name in names for word in _NAMES):
        return True
    if metadata is not None and any(word.encode() in metadata for word in _NAMES):
        return True
    return False if names and framework in _ONE_FILE_EACH else None
