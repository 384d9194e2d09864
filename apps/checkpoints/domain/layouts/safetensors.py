"""Weights as safetensors without a training state around them, whole or in `k-of-n` files.

Source: transformers 5.24.0, save_pretrained, run.
"""

from __future__ import annotations

from apps.checkpoints.domain.layouts.base import Layout, has_any, unmarked
from apps.checkpoints.domain.tree import Folder


def _claims(folder: Folder) -> bool:
    return has_any(folder.files, ".safetensors", ".safetensors.index.json")


LAYOUT = Layout("safetensors", _claims, unmarked, whole=False)
