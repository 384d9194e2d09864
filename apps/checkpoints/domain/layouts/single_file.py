"""Checkpoints of one file: Lightning's `*.ckpt`, and what `torch.save` writes.

Lightning writes a file in one go, so that its name is its mark. `last.ckpt` may be a link to the
newest. Source: lightning 2.6.6, ModelCheckpoint, run.
"""

from __future__ import annotations

from collections.abc import Iterator

from apps.checkpoints.domain.layouts.base import FoundStep, Layout, unmarked
from apps.checkpoints.domain.steps import step_of_name
from apps.checkpoints.domain.tree import Folder, joined

_LIGHTNING_END = ".ckpt"
_TORCH_ENDS = (".pt", ".pth", ".bin")


def _never(folder: Folder) -> bool:
    return False


LIGHTNING = Layout("lightning", _never, unmarked, whole=False)
TORCH_SAVE = Layout("torch_save", _never, unmarked, whole=False)


def in_folder(folder: Folder, *, alone: bool) -> Iterator[FoundStep]:
    """The checkpoints of one file that lie directly in a folder.

    alone: no other checkpoint was found in it. Then files of torch.save count as well: those that
    name a step one by one, all others together as one.
    """
    rest = {}
    for name, stat in folder.files.items():
        target = stat.link_to
        if target is not None and target in folder.files:
            continue
        step = step_of_name(name)
        if name.endswith(_LIGHTNING_END):
            yield _one(LIGHTNING, folder, name, step)
        elif alone and name.endswith(_TORCH_ENDS):
            if step is None:
                rest[name] = stat
            else:
                yield _one(TORCH_SAVE, folder, name, step)
    if len(rest) == 1:
        yield _one(TORCH_SAVE, folder, next(iter(rest)), step_of_name(folder.called))
    elif rest:
        step = step_of_name(folder.called)
        yield FoundStep(TORCH_SAVE.name, step, folder.name, folder.name, rest)


def _one(layout: Layout, folder: Folder, name: str, step: int | None) -> FoundStep:
    files = {name: folder.files[name]}
    return FoundStep(layout.name, step, joined(folder.name, name), folder.name, files)
