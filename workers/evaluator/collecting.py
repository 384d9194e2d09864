"""The result files that a command left behind."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from apps.checkpoints.domain import evalfiles
from apps.checkpoints.domain.evalfiles import MAX_FILE_BYTES, ResultFile
from apps.checkpoints.domain.scores import MAX_SCORES, Measured
from apps.core.errors import BadPayload

MAX_ENTRIES = 5_000
MAX_DEPTH = 8
MAX_FILES = 200


@dataclass(frozen=True, slots=True)
class Collected:
    """All results of one try. problem: why there are none, "" if there are."""

    tool: str = ""
    model: str = ""
    measured: tuple[Measured, ...] = ()
    left_out: int = 0
    problem: str = ""


def collect(folder: Path) -> Collected:
    """The scores of all result files below a folder; of one task and metric the newest file's.

    Links are not followed. Bounded: MAX_ENTRIES names are looked at, MAX_FILES files read.
    """
    files, problems = [], []
    names = _json_files(folder)
    for path in names[:MAX_FILES]:
        try:
            files.append(_read(path))
        except (BadPayload, OSError) as error:
            problems.append(f"{path.name}: {error}")
    if not files:
        return Collected(problem=_problem(len(names), problems))
    return _merged(files)


def _read(path: Path) -> ResultFile:
    with path.open("rb") as file:
        return evalfiles.parse(file.read(MAX_FILE_BYTES + 1))


def _json_files(folder: Path) -> list[Path]:
    """Oldest first; those that are called results_* go before all others."""
    found: list[tuple[float, Path]] = []
    looked = 0
    for at, folders, names in os.walk(folder, followlinks=False):
        depth = len(Path(at).relative_to(folder).parts)
        if depth >= MAX_DEPTH:
            folders.clear()
        for name in sorted(names):
            looked += 1
            path = Path(at, name)
            if name.endswith(".json") and not path.is_symlink():
                found.append((path.stat().st_mtime, path))
        if looked > MAX_ENTRIES:
            break
    found.sort(key=lambda one: (one[0], one[1]))
    named = [path for _, path in found if path.name.startswith("results")]
    return named or [path for _, path in found]


def _merged(files: list[ResultFile]) -> Collected:
    taken = {(m.task, m.metric): m for file in files for m in file.measured}
    measured = tuple(taken.values())[:MAX_SCORES]
    left_out = sum(file.left_out for file in files) + len(taken) - len(measured)
    return Collected(files[-1].tool, files[-1].model, measured, left_out)


def _problem(count: int, problems: list[str]) -> str:
    if not count:
        return "the command ended well but wrote no .json file below its output folder"
    return f"none of {count} .json files is a result: {'; '.join(problems[:3])}"
