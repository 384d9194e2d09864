"""A real checkpoint laid on a disk, as often as a test needs it."""

from __future__ import annotations

import io
import os
import tarfile
from functools import cache
from pathlib import Path

import zstandard

from apps.checkpoints.storage import hash_work, scan_work
from apps.checkpoints.storage.protocol import HashAsk
from tests.ckpt_samples import FOLDER
from tests.factories import T0_NS


@cache
def dcp_files() -> dict[str, bytes]:
    """Name -> content of a step that torch 2.13.0 wrote with four ranks (samples/ckpt)."""
    packed = (FOLDER / "dcp_4_ranks.tar.zst").read_bytes()
    content = zstandard.ZstdDecompressor().stream_reader(packed).read()
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar.getmembers()}


def lay(folder: Path, at_ns: int = T0_NS) -> Path:
    """The step as `folder`, all files of one time."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in dcp_files().items():
        (folder / name).write_bytes(content)
        os.utime(folder / name, ns=(at_ns, at_ns))
    return folder


def answers_here(ask, limits):
    """The work of the storage child in this process, which starts faster."""
    said = []
    work = hash_work if isinstance(ask, HashAsk) else scan_work
    work.run(ask, said.append)
    yield from said


def cut(file: Path) -> None:
    """Loses the second half of a file, at the same time stamp."""
    at_ns = file.stat().st_mtime_ns
    os.truncate(file, file.stat().st_size // 2)
    os.utime(file, ns=(at_ns, at_ns))
