"""LitGPT: `step-00001000/lit_model.pth`, a file or a folder of shards. No mark, no pointer.

Source: litgpt 26857050, read. `--resume auto` takes the highest number without looking inside.
"""

from __future__ import annotations

from apps.checkpoints.domain.layouts.base import Layout, unmarked
from apps.checkpoints.domain.tree import Folder

_MODEL = "lit_model.pth"


def _claims(folder: Folder) -> bool:
    return _MODEL in folder.files or _MODEL in folder.folders


LAYOUT = Layout("litgpt", _claims, unmarked)
