"""Accelerate `save_state`: weights, optimizer, scheduler.bin, and last `random_states_R.pkl`.

With FSDP the weights are distributed checkpoints in `pytorch_model_fsdp_0/` and `optimizer_0/`.
Source: the names in accelerate's checkpointing.py, read; FSDP folders run with torch 2.13.0.
"""

from __future__ import annotations

import re

from apps.checkpoints.domain.codes import Code, finding
from apps.checkpoints.domain.layouts import pytorch_dcp
from apps.checkpoints.domain.layouts.base import FoundStep, Layout, Mark
from apps.checkpoints.domain.reading import Source
from apps.checkpoints.domain.tree import Folder

_RANDOM = re.compile(r"random_states_\d+\.pkl")
_FSDP = re.compile(r"(pytorch_model_fsdp|optimizer)_\d+")


def _claims(folder: Folder) -> bool:
    return any(_RANDOM.fullmatch(name) for name in folder.files) or any(
        _FSDP.fullmatch(name) and pytorch_dcp.holds_dcp(inside)
        for name, inside in folder.folders.items()
    )


def _marked(found: FoundStep, source: Source) -> Mark:
    inner = pytorch_dcp.marked(found, source)
    if inner.committed is False or any(_RANDOM.fullmatch(name) for name in found.files):
        return inner
    text = "no random_states file, which each rank writes last: the save was not finished"
    return Mark(False, (finding(Code.NO_COMMIT_MARKER, text),))


LAYOUT = Layout("accelerate", _claims, _marked)
