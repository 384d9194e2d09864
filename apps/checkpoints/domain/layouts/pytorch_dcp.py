"""PyTorch distributed checkpoint: `__{rank}_{n}.distcp` beside a `.metadata` that is renamed last.

Source: torch 2.13.0, torch/distributed/checkpoint/filesystem.py, run. The number of files is not
the number of ranks: a rank with nothing to write writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from apps.checkpoints.domain.codes import Code, finding
from apps.checkpoints.domain.layouts.base import FoundStep, Layout, Mark
from apps.checkpoints.domain.reading import Source
from apps.checkpoints.domain.tree import Folder, joined

MARKER = ".metadata"
SHARD = ".distcp"
_RANK_MARKER = re.compile(r"__\d+\.metadata")


def holds_dcp(folder: Folder) -> bool:
    """Whether files of a distributed checkpoint lie directly in the folder."""
    return any(is_dcp(name) for name in folder.files)


def is_dcp(name: str) -> bool:
    """Whether a file of this name, without its folder, belongs to a distributed checkpoint."""
    return name in (MARKER, f"{MARKER}.tmp") or name.endswith(SHARD) or is_rank_marker(name)


def is_rank_marker(name: str) -> bool:
    """Whether the file is the metadata of one rank: written without collectives, none is global."""
    return bool(_RANK_MARKER.fullmatch(name))


def folders_with_shards(names: Iterable[str]) -> list[str]:
    """The folders, relative to the step, that files of distributed checkpoints lie in."""
    split = (name.rpartition("/") for name in names)
    return sorted({folder for folder, _, last in split if is_dcp(last)})


def marked(found: FoundStep, source: Source) -> Mark:
    """Committed if every folder with shards has its `.metadata`, or one for each rank."""
    split = (name.rpartition("/") for name in found.files)
    of_ranks = {folder for folder, _, last in split if is_rank_marker(last)}
    folders = folders_with_shards(found.files)
    bare = [name for name in folders if not _committed(found, name, of_ranks)]
    if not bare:
        return Mark(True)
    where = f" in {', '.join(bare[:5])}" if bare != [""] else ""
    absent = [name for name in bare if joined(name, MARKER) not in found.files]
    if not absent:
        return Mark(False)
    text = f"no .metadata file{where}: the save was not finished, or its last rename was lost"
    return Mark(False, (finding(Code.NO_COMMIT_MARKER, text),))


def _committed(found: FoundStep, folder: str, of_ranks: Container[str]) -> bool:
    marker = found.files.get(joined(folder, MARKER))
    return folder in of_ranks if marker is None else marker.size > 0


LAYOUT = Layout("dcp", holds_dcp, marked)
