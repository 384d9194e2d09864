"""Which TensorBoard event files one process wrote, by their names. Plain values, no files.

A name is `events.out.tfevents.<Unix s>.<host>[.<pid>.<number>][<suffix>]`; the number counts the
writers of one process, so that a number 0 or one that does not grow is a new process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_NAME = re.compile(
    r"events\.out\.tfevents\.(\d{1,18})\.(.+?)(?:\.(\d{1,18})\.(\d{1,18})(?:\.\D.*)?)?"
)
_EVALUATION = re.compile(r"(?:^|[_.-])(?:val|valid|validation|eval|evaluation|test|dev)(?:$|[_.-])")
_TIME_STAMP = re.compile(r"\d+(?:\.\d+)?")
MAX_DEPTH = 6
TOGETHER_S = 60
"""Processes that begin within so long of each other are one start, as the server sees it."""


@dataclass(slots=True)
class _Process:
    """A process that writes. root, name: folder and path of its first file."""

    root: str
    name: str
    last_number: int


@dataclass(frozen=True, slots=True)
class Found:
    """One file. process: relative path of the first file of its process. root: the folder of that
    one. under: what stands before its tags. began_s: of the process, Unix s. evaluates: the
    process only evaluates, by the name of its root. writer: host and number of the process, "" if
    the name does not say the number."""

    path: str
    process: str
    root: str
    under: str
    began_s: int
    evaluates: bool
    writer: str

    def took_over(self, other: Found, changed_s: float) -> bool:
        """Whether it began after `other` had ended. changed_s: last change of the other's file.

        A writer may hold back for minutes what it has, so that an old file alone says little: the
        two are some time apart, or have the same number, which one process has at a time.
        """
        apart = self.began_s - other.began_s > TOGETHER_S
        return changed_s < self.began_s and (apart or self.writer == other.writer != "")


def group(paths: Iterable[str]) -> list[Found]:
    """The files, oldest first, with their processes. paths: relative, with "/".

    A file without a process number joins an earlier writer only from a folder below that one's
    own (where tensorboardX puts hparams). What is added later changes nothing before it.
    """
    processes: dict[tuple[str, str], _Process] = {}
    found = []
    for path in sorted(paths, key=_age):
        process = _process(processes, path)
        under = _under(process.root, _folder(path))
        evaluates = _speaks_of_evaluation(process.root)
        began_s = _age(process.name)[0]
        writer = _writer(process.name)
        found.append(Found(path, process.name, process.root, under, began_s, evaluates, writer))
    return found


def _process(processes: dict[tuple[str, str], _Process], path: str) -> _Process:
    match = _NAME.fullmatch(PurePosixPath(path).name)
    host, pid, number = (match[2], match[3], match[4]) if match else ("", None, None)
    folder = _folder(path)
    if pid is not None and number is not None:
        key = (host, pid)
        known = processes.get(key)
        if known is None or int(number) <= known.last_number:
            known = processes[key] = _Process(folder, path, int(number))
        known.last_number = int(number)
        return known
    above = [p for (other, _), p in processes.items() if other == host and _below(folder, p.root)]
    if above:
        return above[-1]
    fresh = processes[host, path] = _Process(folder, path, 0)
    return fresh


def _writer(path: str) -> str:
    match = _NAME.fullmatch(PurePosixPath(path).name)
    return f"{match[2]} {match[3]}" if match and match[3] else ""


def _age(path: str) -> tuple[int, int, str]:
    match = _NAME.fullmatch(PurePosixPath(path).name)
    return (int(match[1]), int(match[4] or 0), path) if match else (0, 0, path)


def _folder(path: str) -> str:
    parent = str(PurePosixPath(path).parent)
    return "" if parent == "." else parent


def _below(folder: str, root: str) -> bool:
    return folder != root and (root == "" or folder.startswith(f"{root}/"))


def _speaks_of_evaluation(folder: str) -> bool:
    return _EVALUATION.search(PurePosixPath(folder).name.lower()) is not None


def _under(root: str, folder: str) -> str:
    """The folder as a part of metric names: none for the process's own one, unless its name says
    that it holds evaluations."""
    last = PurePosixPath(folder).name
    if folder == root:
        return last if _speaks_of_evaluation(folder) else ""
    below = folder.removeprefix(f"{root}/") if root and _below(folder, root) else last
    below = folder if root == "" else below
    return "" if _TIME_STAMP.fullmatch(last) else below


def event_files(given: Path) -> Iterator[Path]:
    """`given` itself, or the event files below it, at most MAX_DEPTH folders deep."""
    if not given.is_dir():
        yield from (given,) if given.exists() else ()
        return
    for folder, folders, names in os.walk(given):
        if len(Path(folder).relative_to(given).parts) >= MAX_DEPTH:
            folders.clear()
        for name in names:
            if "tfevents" in name and not name.endswith(".profile-empty"):
                yield Path(folder, name)
