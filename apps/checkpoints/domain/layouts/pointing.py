"""Pointer files: which step one names, and what that says about a step."""

from __future__ import annotations

from apps.checkpoints.domain.codes import CheckpointFinding, Code, finding
from apps.checkpoints.domain.layouts.base import FoundStep, Mark, Pointer
from apps.checkpoints.domain.reading import Source, Unreadable, Vanished
from apps.checkpoints.domain.steps import step_of_name
from apps.checkpoints.domain.tree import joined

MAX_POINTER_BYTES = 4_096


def by_pointer(found: FoundStep, source: Source, pointer: Pointer) -> Mark:
    """The mark of a framework whose pointer is written when a save is complete.

    Steps up to the one it names are committed. Whether the pointer itself leads anywhere is a
    finding of the folder, not of each step.
    """
    parent = found.root_name.rpartition("/")[0]
    name = joined(parent, pointer.name)
    if name not in found.beside:
        return Mark(False, (_never_written(pointer),))
    try:
        content = source.one(name, 0, MAX_POINTER_BYTES)
    except (Vanished, Unreadable) as error:
        return Mark(None, unchecked=(f"whether the save is complete: {name}: {error.message}",))
    folder = pointer.names(content)
    if folder is None:
        return Mark(False, unchecked=(f"whether the save is complete: {name} cannot be parsed",))
    if folder == found.root_name.rpartition("/")[2]:
        return Mark(True)
    latest = step_of_name(folder)
    if latest is None or found.step is None:
        return Mark(None)
    if found.step <= latest:
        return Mark(True)
    text = f"{pointer.name} names step {latest}: this save is still running, or it was not finished"
    return Mark(False, (finding(Code.NO_COMMIT_MARKER, text),))


def _never_written(pointer: Pointer) -> CheckpointFinding:
    text = f"no file {pointer.name} beside the steps: without it nothing is resumed"
    return finding(Code.NO_COMMIT_MARKER, text)
