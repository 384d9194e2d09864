"""NeMo 2: `NAME--val_loss=x-step=y-consumed_samples=z[-last]/` with `weights/` and `context/`.

A file `NAME-unfinished` beside it says that it is being written or deleted; complete means that
there is none. Source: NeMo of September 2025, read.
"""

from __future__ import annotations

from apps.checkpoints.domain.codes import Code, finding
from apps.checkpoints.domain.layouts import pytorch_dcp
from apps.checkpoints.domain.layouts.base import FoundStep, Layout, Mark
from apps.checkpoints.domain.reading import Source
from apps.checkpoints.domain.tree import Folder

UNFINISHED = "-unfinished"


def _claims(folder: Folder) -> bool:
    weights = folder.folders.get("weights")
    if weights is None:
        return False
    named = "step=" in folder.called and pytorch_dcp.holds_dcp(weights)
    return named or "context" in folder.folders


def _marked(found: FoundStep, source: Source) -> Mark:
    if f"{found.root_name}{UNFINISHED}" in found.beside:
        text = f"{found.root_name}{UNFINISHED} lies beside it: it is being written or deleted"
        return Mark(False, (finding(Code.NO_COMMIT_MARKER, text),))
    return pytorch_dcp.marked(found, source)


LAYOUT = Layout("nemo", _claims, _marked)
