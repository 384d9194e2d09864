"""Megatron-LM: `iter_0001000/` as distributed checkpoint or as one folder for each model rank.

The tracker `latest_checkpointed_iteration.txt` is written after all ranks, not atomically; what it
holds is a number or "release", or Megatron exits. Source: Megatron-LM d98e8a64,
megatron/training/checkpointing.py, read.
"""

from __future__ import annotations

import re

from apps.checkpoints.domain.codes import Code, finding
from apps.checkpoints.domain.layouts import pytorch_dcp
from apps.checkpoints.domain.layouts.base import FoundStep, Layout, Mark, Pointer
from apps.checkpoints.domain.layouts.pointing import by_pointer
from apps.checkpoints.domain.reading import Source
from apps.checkpoints.domain.tree import Folder

TRACKER = "latest_checkpointed_iteration.txt"
_ITERATION = re.compile(r"iter_\d{7,}")
_RANK = re.compile(r"mp_rank_\d{2,}(_\d{3,}){0,2}")
_RELEASE = "release"


def _named(content: bytes) -> str | None:
    text = content.decode("ascii", "replace").strip()
    if text == _RELEASE:
        return text
    return f"iter_{int(text):07d}" if text.isdigit() and len(text) < 19 else None


POINTER = Pointer(TRACKER, _named)


def _iteration(folder: Folder) -> bool:
    return bool(_ITERATION.fullmatch(folder.called)) or folder.called == _RELEASE


def _claims_dist(folder: Folder) -> bool:
    parts = {"metadata.json", "common.pt"} & folder.files.keys()
    return (_iteration(folder) and (pytorch_dcp.holds_dcp(folder) or bool(parts))) or (
        len(parts) == 2
    )


def _claims_legacy(folder: Folder) -> bool:
    return any(_RANK.fullmatch(name) for name in folder.folders)


def _marked_legacy(found: FoundStep, source: Source) -> Mark:
    return by_pointer(found, source, POINTER)


def _marked_dist(found: FoundStep, source: Source) -> Mark:
    if pytorch_dcp.folders_with_shards(found.files):
        return pytorch_dcp.marked(found, source)
    text = "neither .metadata nor a .distcp file: the save was not finished"
    return Mark(False, (finding(Code.NO_COMMIT_MARKER, text),))


TORCH_DIST = Layout("megatron", _claims_dist, _marked_dist, POINTER)
LEGACY = Layout("megatron_legacy", _claims_legacy, _marked_legacy, POINTER, pointer_marks=True)
