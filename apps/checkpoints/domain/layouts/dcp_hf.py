"""Distributed checkpoint in Hugging Face form: `shard-0000R-model-0000k-of-0000n.safetensors`.

Consolidated, the files of the ranks lie under `sharded/` and an index beside the whole ones is the
mark. Not consolidated, there is no mark: the numbering and the offsets in the headers must do.
Source: torch 2.13.0, torch/distributed/checkpoint/hf_storage.py, run.
"""

from __future__ import annotations

import re

from apps.checkpoints.domain.codes import Code, finding
from apps.checkpoints.domain.layouts.base import FoundStep, Layout, Mark, has_any, marked_by
from apps.checkpoints.domain.reading import Source
from apps.checkpoints.domain.tree import Folder

INDEX = "model.safetensors.index.json"
SHARD_NAME = re.compile(r"shard-(?P<rank>\d{5})-(?P<whole>.+\.safetensors)")
_CONSOLIDATED = "sharded"


def _claims(folder: Folder) -> bool:
    inside = folder.folders.get(_CONSOLIDATED)
    return _has_shards(folder) or (inside is not None and _has_shards(inside))


def _has_shards(folder: Folder) -> bool:
    return any(SHARD_NAME.fullmatch(name) for name in folder.files)


def _marked(found: FoundStep, source: Source) -> Mark:
    if not any(name.startswith(f"{_CONSOLIDATED}/") for name in found.files):
        text = (
            "how many ranks wrote: this layout does not say, so that the absence of the last "
            "ranks shows only against an inventory"
        )
        return Mark(None, unchecked=(text,))
    text = f"no {INDEX}: consolidating the files of the ranks was not finished"
    return marked_by(found, [INDEX], finding(Code.NO_COMMIT_MARKER, text))


def consolidated(folder: Folder) -> bool:
    """Whether whole safetensors files with an index lie in the folder."""
    return INDEX in folder.files and has_any(folder.files, ".safetensors")


LAYOUT = Layout("dcp_hf", _claims, _marked)
