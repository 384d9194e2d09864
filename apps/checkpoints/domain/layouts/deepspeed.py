"""DeepSpeed: `global_stepN/` with one file for each rank, and `latest` beside the steps.

Source: DeepSpeed edaa7221, runtime/engine.py, read. Without `latest` and without a tag it warns and
starts from scratch.
"""

from __future__ import annotations

from apps.checkpoints.domain.layouts.base import FoundStep, Layout, Mark, Pointer, has_any
from apps.checkpoints.domain.layouts.pointing import by_pointer
from apps.checkpoints.domain.reading import Source
from apps.checkpoints.domain.tree import Folder

LATEST = "latest"
_MAX_TAG = 255


def tag(content: bytes) -> str | None:
    """The folder that `latest` names; None if no folder can be called so."""
    try:
        text = content.decode().strip()
    except UnicodeDecodeError:
        return None
    fits = 0 < len(text) <= _MAX_TAG and text.isprintable() and text not in (".", "..")
    return text if fits and "/" not in text else None


POINTER = Pointer(LATEST, tag)


def _claims(folder: Folder) -> bool:
    return has_any(folder.files, "_model_states.pt", "_optim_states.pt")


def _marked(found: FoundStep, source: Source) -> Mark:
    return by_pointer(found, source, POINTER)


LAYOUT = Layout("deepspeed", _claims, _marked, POINTER, pointer_marks=True)
