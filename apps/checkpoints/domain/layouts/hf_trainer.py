"""Hugging Face Trainer: `checkpoint-N/` with weights, optimizer.pt, scheduler.pt, rng_state files.

It leaves no mark; `trainer_state.json` is written last by the first rank, and resuming fails
without it. Source: transformers 5.24.0, trainer.py, run.
"""

from __future__ import annotations

import re

from apps.checkpoints.domain.codes import Code, finding
from apps.checkpoints.domain.layouts.base import FoundStep, Layout, Mark, has_any, marked_by
from apps.checkpoints.domain.reading import Source
from apps.checkpoints.domain.tree import Folder

STATE = "trainer_state.json"
_STEP = re.compile(r"checkpoint-\d+")


def _claims(folder: Folder) -> bool:
    files = folder.files
    if STATE in files or {"optimizer.pt", "scheduler.pt"} <= files.keys():
        return True
    weights = has_any(files, ".safetensors", ".bin", ".pt", ".pth")
    return bool(_STEP.fullmatch(folder.called)) and weights


def _marked(found: FoundStep, source: Source) -> Mark:
    text = f"no {STATE}, which is written last: resuming from here fails"
    return marked_by(found, [STATE], finding(Code.NO_COMMIT_MARKER, text))


LAYOUT = Layout("hf_trainer", _claims, _marked)
