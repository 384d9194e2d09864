"""What a layout is: where a framework puts the files of a step, and how it says all are there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from apps.checkpoints.domain.codes import CheckpointFinding
from apps.checkpoints.domain.reading import Source
from apps.checkpoints.domain.steps import step_of_name
from apps.checkpoints.domain.tree import FileStat, Folder, Tree, joined


@dataclass(frozen=True, slots=True)
class FoundStep:
    """One checkpoint in a tree.

    layout: name of the layout. step: read from its name, None if that names none. root_name: its
    folder or its only file, relative to the root of the tree ("": the root is the checkpoint).
    folder: what names of `files` are relative to. beside: files next to it that speak of it
    (pointers, marks of unfinished saves), named relative to the root of the tree. findings: what
    the listing alone shows, also against the steps before and after it.
    """

    layout: str
    step: int | None
    root_name: str
    folder: str
    files: Tree
    beside: Tree = field(default_factory=dict)
    findings: tuple[CheckpointFinding, ...] = ()

    def place(self, name: str) -> str:
        """The name of one of its files relative to the root of the tree, as a reader wants it."""
        return joined(self.folder, name)


@dataclass(frozen=True, slots=True)
class Mark:
    """Whether a framework said that a save is complete.

    committed: None where the framework leaves no mark; then a checkpoint counts as committed when
    nothing is wrong with it. unchecked: in words, what could not be found out.
    """

    committed: bool | None
    findings: tuple[CheckpointFinding, ...] = ()
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pointer:
    """A file next to the steps that names the one to resume from.

    name: of the file. names: its content -> the folder it means, None if it cannot be parsed.
    """

    name: str
    names: Callable[[bytes], str | None]


@dataclass(frozen=True, slots=True)
class Layout:
    """How one framework lays a checkpoint.

    claims: whether a folder is one checkpoint of this layout. whole: the folders inside belong to
    it too, except those that are checkpoints of the same layout. marked: whether the save is
    complete. pointer_marks: only the pointer says so. step_of: the step in the name of the folder.
    """

    name: str
    claims: Callable[[Folder], bool]
    marked: Callable[[FoundStep, Source], Mark]
    pointer: Pointer | None = None
    pointer_marks: bool = False
    whole: bool = True
    step_of: Callable[[str], int | None] = step_of_name


def unmarked(found: FoundStep, source: Source) -> Mark:
    """The mark of a framework that leaves none."""
    return Mark(None)


def marked_by(found: FoundStep, names: Collection[str], missing: CheckpointFinding) -> Mark:
    """Committed if one of these files is there and not empty. missing: the finding otherwise.

    An empty one is no mark; that it is empty is found with the other files.
    """
    present = [name for name in names if name in found.files]
    if not present:
        return Mark(False, (missing,))
    return Mark(any(found.files[name].size for name in present))


def has_any(files: Mapping[str, FileStat], *endings: str) -> bool:
    """Whether a name ends like this."""
    return any(name.endswith(endings) for name in files)
