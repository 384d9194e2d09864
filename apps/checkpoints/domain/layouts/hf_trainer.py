"""Hugging Face Trainer: `checkpoint-N/` with weights, optimizer.pt, scheduler.pt, rng_state files.

It leaves no mark; `trainer_state.json` is written last by the first rank, and resuming fails
without it. With DeepSpeed its state lies in `global_stepN/` inside, and `latest` names it. Source:
transformers 5.24.0, trainer.py, run; its DeepSpeed part, read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from apps.checkpoints.domain.codes import CheckpointFinding, Code, finding
from apps.checkpoints.domain.layouts import deepspeed
from apps.checkpoints.domain.layouts.base import FoundStep, Layout, Mark, has_any, marked_by
from apps.checkpoints.domain.layouts.pointing import MAX_POINTER_BYTES
from apps.checkpoints.domain.reading import Source, Unreadable, Vanished
from apps.checkpoints.domain.tree import Folder

STATE = "trainer_state.json"
_STEP = re.compile(r"checkpoint-\d+")
_DEEPSPEED = re.compile(r"global_step\d+/")


def _claims(folder: Folder) -> bool:
    files = folder.files
    if STATE in files or {"optimizer.pt", "scheduler.pt"} <= files.keys():
        return True
    weights = has_any(files, ".safetensors", ".bin", ".pt", ".pth")
    return bool(_STEP.fullmatch(folder.called)) and weights


def _marked(found: FoundStep, source: Source) -> Mark:
    text = f"no {STATE}, which is written last: resuming from here fails"
    mark = marked_by(found, [STATE], finding(Code.NO_COMMIT_MARKER, text))
    inside = {name.partition("/")[0] for name in found.files if _DEEPSPEED.match(name)}
    return replace(mark, findings=(*mark.findings, *_inner(found, source, inside)))


def _inner(found: FoundStep, source: Source, folders: set[str]) -> Iterator[CheckpointFinding]:
    """What is wrong with the pointer to DeepSpeed's part."""
    latest = deepspeed.LATEST
    if not folders:
        return
    if latest not in found.files:
        text = f"no {latest} beside {min(folders)}: the state of the optimizer is not loaded"
        yield finding(Code.LATEST_MISSING, text)
        return
    try:
        content = source.one(found.place(latest), 0, MAX_POINTER_BYTES)
    except (Vanished, Unreadable) as error:
        yield finding(Code.UNCHECKED, f"{latest}: {error.message}")
        return
    named = deepspeed.tag(content)
    if named is None:
        yield finding(Code.BAD_LATEST, f"{latest} names no folder")
    elif named not in folders:
        yield finding(Code.STALE_LATEST, f"{latest} names {named}, which is not there")


LAYOUT = Layout("hf_trainer", _claims, _marked)
