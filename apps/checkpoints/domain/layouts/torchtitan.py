"""torchtitan: `<folder>/step-N/`, a distributed checkpoint or consolidated Hugging Face files.

Source: torchtitan b5bcd76c, components/checkpoint.py. It resumes at the highest N whose folder has
a `.metadata` or a `model.safetensors.index.json`.
"""

from __future__ import annotations

import re

from apps.checkpoints.domain.layouts import pytorch_dcp
from apps.checkpoints.domain.layouts.base import Layout
from apps.checkpoints.domain.tree import Folder

_STEP = re.compile(r"step-\d+")


def _claims(folder: Folder) -> bool:
    return bool(_STEP.fullmatch(folder.called)) and pytorch_dcp.holds_dcp(folder)


LAYOUT = Layout("torchtitan", _claims, pytorch_dcp.marked)
