"""Every layout, and the checkpoints that a tree holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Final

from apps.checkpoints.domain import ranks
from apps.checkpoints.domain.layouts import (
    accelerate,
    dcp_hf,
    deepspeed,
    hf_trainer,
    litgpt,
    megatron,
    nemo,
    olmo_core,
    orbax,
    pytorch_dcp,
    safetensors,
    single_file,
    torchtitan,
)
from apps.checkpoints.domain.layouts.base import FoundStep, Layout
from apps.checkpoints.domain.tree import Folder, Tree, folders_of, joined

LAYOUTS: Final[tuple[Layout, ...]] = (
    olmo_core.LAYOUT,
    nemo.LAYOUT,
    orbax.LAYOUT,
    megatron.LEGACY,
    megatron.TORCH_DIST,
    hf_trainer.LAYOUT,
    accelerate.LAYOUT,
    deepspeed.LAYOUT,
    litgpt.LAYOUT,
    torchtitan.LAYOUT,
    dcp_hf.LAYOUT,
    pytorch_dcp.LAYOUT,
    safetensors.LAYOUT,
    single_file.LIGHTNING,
    single_file.TORCH_SAVE,
)
"""In the order in which a folder is shown to them: what holds others comes first."""
BY_NAME: Final = {layout.name: layout for layout in LAYOUTS}
_STAGING: Final = re.compile(r".+\.orbax-checkpoint-tmp(-.*)?|tmp-checkpoint-\d+|.+\.tmp")


def find(tree: Tree, called: str = "") -> tuple[FoundStep, ...]:
    """The checkpoints in a tree, by folder, step and name; those without a step first.

    called: what the root of the tree is called, where the root may be a checkpoint itself. What
    lies in the temporary folder of a save is no checkpoint. Reads nothing. O(files x depth).
    """
    steps = sorted(_in_folder(folders_of(tree, called), None), key=_order)
    rows = (list(row) for _, row in groupby(steps, key=_row))
    return tuple(_beside_its_neighbours(row, at) for row in rows for at in range(len(row)))


def debris(tree: Tree) -> tuple[str, ...]:
    """Temporary folders of saves, relative to the root of the tree, by name."""
    return tuple(sorted(_staging_below(folders_of(tree))))


def is_staging(called: str) -> bool:
    """Whether a folder of this name is the temporary one of a save."""
    return bool(_STAGING.fullmatch(called))


def _in_folder(folder: Folder, parent: Folder | None) -> Iterator[FoundStep]:
    if parent is not None and is_staging(folder.called):
        return
    layout = next((each for each in LAYOUTS if each.claims(folder)), None)
    if layout is not None:
        yield _step(layout, folder, parent)
    inside = [f for f in folder.folders.values() if layout is None or _separate(layout, f)]
    below = [step for each in inside for step in _in_folder(each, folder)]
    yield from below
    if layout is None:
        yield from single_file.in_folder(folder, alone=not below)


def _separate(layout: Layout, inside: Folder) -> bool:
    """Whether a folder inside a checkpoint is another one."""
    another = layout.step_of(inside.called) is not None and layout.claims(inside)
    return another or not layout.whole


def _step(layout: Layout, folder: Folder, parent: Folder | None) -> FoundStep:
    files = dict(folder.files)
    if layout.whole:
        for called, inside in folder.folders.items():
            if not _separate(layout, inside):
                files |= {f"{called}/{name}": stat for name, stat in inside.below().items()}
    step = layout.step_of(folder.called)
    beside = _speaking_of(layout, folder, parent)
    return FoundStep(layout.name, step, folder.name, folder.name, files, beside)


def _speaking_of(layout: Layout, folder: Folder, parent: Folder | None) -> Tree:
    if parent is None:
        return {}
    names = [f"{folder.called}{nemo.UNFINISHED}"]
    if layout.pointer is not None:
        names.append(layout.pointer.name)
    return {joined(parent.name, n): parent.files[n] for n in names if n in parent.files}


def _staging_below(folder: Folder) -> Iterator[str]:
    for called, inside in folder.folders.items():
        if is_staging(called):
            yield inside.name
        else:
            yield from _staging_below(inside)


def _order(step: FoundStep) -> tuple[str, str, int, str]:
    return (*_row(step), -1 if step.step is None else step.step, step.root_name)


def _row(step: FoundStep) -> tuple[str, str]:
    """Steps of one layout in one folder."""
    return step.root_name.rpartition("/")[0], step.layout


def _beside_its_neighbours(row: list[FoundStep], at: int) -> FoundStep:
    near = [row[i].files for i in (at - 1, at + 1) if 0 <= i < len(row)]
    found = ranks.gaps(row[at].files, near)
    return replace(row[at], findings=tuple(found)) if found else row[at]
