"""What is wrong with the folder that checkpoints lie in: its pointers, its debris."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from apps.checkpoints.domain.codes import CheckpointFinding, Code, finding, named
from apps.checkpoints.domain.layouts import BY_NAME, debris, hf_trainer, megatron
from apps.checkpoints.domain.layouts.base import FoundStep, Pointer
from apps.checkpoints.domain.layouts.pointing import MAX_POINTER_BYTES
from apps.checkpoints.domain.reading import Reader, Unreadable, Vanished
from apps.checkpoints.domain.tree import Tree, joined

_LAST = ("last", "latest")
_BEST = re.compile(rb'"best_model_checkpoint"\s*:\s*"([^"\\]{1,1000})"')
MAX_BEST_BYTES = 4_096


@dataclass(slots=True)
class _Place:
    """A folder with a pointer, or one that should have it. called: its steps -> their numbers."""

    pointer: Pointer
    marked_by_it: bool = True
    called: dict[str, int | None] = field(default_factory=dict)


def check_root(
    tree: Tree, steps: Sequence[FoundStep], reader: Reader
) -> tuple[CheckpointFinding, ...]:
    """Pointers that lead nowhere, cannot be parsed, are behind or were never written, and what
    unfinished saves left.

    steps: what `layouts.find` found in the tree. Reads a few bytes for each pointer. What is wrong
    here forbids resuming by the pointer; a step that is whole can still be resumed by its name.
    """
    told = [
        said
        for parent, place in sorted(_places(tree, steps).items())
        for said in _pointed(joined(parent, place.pointer.name), place, tree, reader)
    ]
    left = named(Code.STAGING_DEBRIS, "left by unfinished saves", debris(tree), what="folder")
    return (*told, *_dangling(tree), *_best(tree, steps, reader), *left)


def _places(tree: Tree, steps: Sequence[FoundStep]) -> Mapping[str, _Place]:
    places: dict[str, _Place] = {}
    for step in steps:
        pointer = BY_NAME[step.layout].pointer
        if pointer is not None and step.root_name:
            parent, _, called = step.root_name.rpartition("/")
            place = places.setdefault(parent, _Place(pointer))
            place.called[called] = step.step
            place.marked_by_it = BY_NAME[step.layout].pointer_marks
    for name in tree:
        parent, _, last = name.rpartition("/")
        if last == megatron.TRACKER:
            places.setdefault(parent, _Place(megatron.POINTER))
    return places


def _pointed(name: str, place: _Place, tree: Tree, reader: Reader) -> Iterator[CheckpointFinding]:
    if name not in tree:
        # Where the pointer is the mark as well, each step says that it is not committed.
        if not place.marked_by_it:
            text = f"no {name}, though checkpoints lie beside where it belongs: none is resumed"
            yield finding(Code.LATEST_MISSING, text)
        return
    try:
        content = reader.read(name, 0, MAX_POINTER_BYTES)
    except (Vanished, Unreadable) as error:
        yield finding(Code.UNCHECKED, f"{name}: {error.message}")
        return
    if not content:
        yield finding(Code.ZERO_LENGTH, f"{name} is empty")
    folder = place.pointer.names(content)
    if folder is None:
        shown = content[:40].decode("utf-8", "replace")
        yield finding(Code.BAD_LATEST, f"{name} holds {shown!r}, which names no checkpoint")
    elif folder not in place.called:
        text = f"{name} names {folder}, which is not there: resuming fails or starts from scratch"
        yield finding(Code.STALE_LATEST, text)
    else:
        yield from _behind(name, folder, place)


def _behind(name: str, folder: str, place: _Place) -> Iterator[CheckpointFinding]:
    at = place.called[folder]
    newest = max((step for step in place.called.values() if step is not None), default=None)
    if at is not None and newest is not None and newest > at:
        text = f"{name} names step {at}, though step {newest} lies beside it"
        yield finding(Code.LATEST_BEHIND, text)


def _best(tree: Tree, steps: Sequence[FoundStep], reader: Reader) -> Iterator[CheckpointFinding]:
    """A best checkpoint that the newest Trainer state names and that was rotated away
    (transformers#39560). Its keys are sorted, so it stands in the first bytes."""
    # Of a tree that is one checkpoint the others are not seen.
    beside = [one for one in steps if one.root_name]
    states = [(one.step or 0, joined(one.root_name, hf_trainer.STATE)) for one in beside]
    there = [(step, name) for step, name in states if name in tree]
    if not there:
        return
    step, name = max(there)
    try:
        found = _BEST.search(reader.read(name, 0, MAX_BEST_BYTES))
    except (Vanished, Unreadable):
        return
    called = posixpath.basename(found[1].decode("utf-8", "replace").rstrip("/")) if found else ""
    parent = posixpath.dirname(posixpath.dirname(name))
    if called and not any(one.startswith(joined(parent, called) + "/") for one in tree):
        text = f"{name} of step {step:,} names {called} as the best checkpoint: it is not there"
        yield finding(Code.BEST_MISSING, text)


def _dangling(tree: Tree) -> list[CheckpointFinding]:
    """Links called last or latest that lead nowhere."""
    names = []
    for name, stat in tree.items():
        parent, _, last = name.rpartition("/")
        if stat.link_to is None or stat.size or not last.startswith(_LAST):
            continue
        if posixpath.normpath(joined(parent, stat.link_to)) not in tree:
            names.append(f"{name} -> {stat.link_to}")
    return named(Code.STALE_LATEST, "leading nowhere", names, what="link")
