"""What a branch is planned from, and the plan."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_SKIPPED = 10_000
"""Single steps named in arguments; a longer list does not fit on a command line."""
_STORE = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The checkpoint to start from and the directory of the new branch.

    uri: of the step, a directory or a file. names: relative names of its files, as far as they are
    known. skip_ranges: first and last step whose data to skip.
    """

    uri: str
    step: int
    branch: str
    names: tuple[str, ...] = ()
    skip_ranges: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        """Last part of the uri: "checkpoint-900"."""
        return self.uri.rstrip("/").rpartition("/")[2]

    @property
    def on_disk(self) -> bool:
        """Whether it lies in a file system, where links exist; else in an object store."""
        return _STORE.match(self.uri) is None or self.uri.startswith("file://")

    @property
    def inside(self) -> bool:
        """Whether it lies in the branch already: then nothing is to be created."""
        return self.uri.rstrip("/").rpartition("/")[0] == self.branch.rstrip("/")

    @property
    def skipped(self) -> tuple[int, ...]:
        """Every step to skip, in order; () if they are more than MOST_SKIPPED."""
        if sum(last - first + 1 for first, last in self.skip_ranges) > MOST_SKIPPED:
            return ()
        steps = {step for first, last in self.skip_ranges for step in range(first, last + 1)}
        return tuple(sorted(steps))


@dataclass(frozen=True, slots=True)
class BranchPlan:
    """How a framework starts from a checkpoint and saves into a directory of its own.

    links: (name in the directory, target). files: (name in the directory, content): pointers that
    the framework reads, written once, since it moves them itself. arguments: of the first start;
    later: of every start once the branch has a checkpoint of its own. code: the call that loads, as
    the training script has it. avoid: arguments that undo or repeat the rollback. note: what else
    to know.
    """

    framework: str
    directory: str
    load: str
    links: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    code: str = ""
    avoid: tuple[str, ...] = ()
    note: str = ""
    title: str = field(default="", compare=False)

    @property
    def line(self) -> str:
        """The arguments of the first start as a shell reads them."""
        return shlex.join(self.arguments)

    @property
    def later_line(self) -> str:
        """Those of later starts."""
        return shlex.join(self.later)

    def as_json(self) -> dict[str, Any]:
        """As a launcher gets it: lists and text only."""
        return {
            "framework": self.framework,
            "directory": self.directory,
            "load": self.load,
            "links": [list(pair) for pair in self.links],
            "files": [list(pair) for pair in self.files],
            "arguments": list(self.arguments),
            "later_arguments": list(self.later),
            "code": self.code,
            "avoid": list(self.avoid),
            "note": self.note,
        }


def linked(chosen: Chosen, name: str | None = None) -> tuple[tuple[str, str], ...]:
    """The link to the step, under its own or another name; () where it cannot or need not be."""
    if chosen.inside or not chosen.on_disk:
        return ()
    return ((name or chosen.name, chosen.uri),)


def pointer(chosen: Chosen, name: str, content: str) -> tuple[tuple[str, str], ...]:
    """A pointer file beside the link; () where there is no link."""
    return ((name, content),) if linked(chosen) else ()


def place(chosen: Chosen, name: str | None = None) -> str:
    """Where the start finds the step: the link in the branch, else the step itself."""
    links = linked(chosen, name)
    return f"{chosen.branch.rstrip('/')}/{links[0][0]}" if links else chosen.uri


def root(chosen: Chosen) -> str:
    """The directory a framework loads from that looks for the step itself: the branch, or, for the
    first start in an object store, the directory that holds the step."""
    if chosen.on_disk or chosen.inside:
        return chosen.branch
    return chosen.uri.rstrip("/").rpartition("/")[0]


def flags(name: str, values: Sequence[object]) -> tuple[str, ...]:
    """An argument with its values; () without any."""
    return (name, *map(str, values)) if values else ()
