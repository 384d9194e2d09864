"""The recorded training runs that ship with Lastgood (workers/demo/recordings/README.md)."""

from __future__ import annotations

import tarfile
from pathlib import Path

from apps.core.errors import AppError

FOLDER = Path(__file__).parent / "recordings"


def names(folder: Path = FOLDER) -> list[str]:
    """Names of the recordings in a folder, sorted."""
    return sorted(path.name.removesuffix(".tar.xz") for path in folder.glob("*.tar.xz"))


def unpack(name: str, into: Path, folder: Path = FOLDER) -> Path:
    """The run folder `into/name`, unpacked if it is not there yet.

    Uses tarfile's "data" filter: no links out of the folder, no devices, no absolute paths.
    Raises AppError for a name that is not a recording. About 0.4 s per MB of archive.
    """
    archive = folder / f"{name}.tar.xz"
    known = names(folder)
    if name not in known:
        raise AppError(f"there is no recording {name!r}", hint=f"choose one of {', '.join(known)}")
    target = into / name
    if target.is_dir():
        return target
    partial = into / f".{name}.unpacking"
    partial.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "r:xz") as tar:
        tar.extractall(partial, filter="data")
    (partial / name).rename(target)
    partial.rmdir()
    return target
