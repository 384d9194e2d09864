"""OLMo-core: `stepN/` with `train/rankR.pt`, `model_and_optim/` (distributed), `.metadata.json`.

All three make a checkpoint for it. Its asynchronous save writes `.metadata.json` even when the save
failed, so that the `.metadata` of the inner folder is asked too. Source: OLMo-core fa6c5014, read.
"""

from __future__ import annotations

from apps.checkpoints.domain.codes import Code, finding
from apps.checkpoints.domain.layouts import pytorch_dcp
from apps.checkpoints.domain.layouts.base import FoundStep, Layout, Mark
from apps.checkpoints.domain.reading import Source
from apps.checkpoints.domain.tree import Folder

_MARKER = ".metadata.json"
_MODEL, _TRAIN = "model_and_optim", "train"


def _claims(folder: Folder) -> bool:
    return _MODEL in folder.folders or (_MARKER in folder.files and _TRAIN in folder.folders)


def _marked(found: FoundStep, source: Source) -> Mark:
    absent = []
    if _MARKER not in found.files:
        absent.append(_MARKER)
    if f"{_MODEL}/{pytorch_dcp.MARKER}" not in found.files:
        absent.append(f"{_MODEL}/{pytorch_dcp.MARKER}")
    if not any(name.startswith(f"{_TRAIN}/rank") for name in found.files):
        absent.append(f"{_TRAIN}/rank0.pt")
    if not absent:
        return Mark(all(found.files[name].size for name in (_MARKER, f"{_MODEL}/.metadata")))
    text = f"no {' and no '.join(absent)}: OLMo-core takes it for no checkpoint"
    return Mark(False, (finding(Code.NO_COMMIT_MARKER, text),))


LAYOUT = Layout("olmo_core", _claims, _marked)
