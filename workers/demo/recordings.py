"""The recorded training runs that ship with Lastgood (workers/demo/recordings/README.md)."""

from __future__ import annotations

import tarfile
from pathlib import Path

from apps.core.errors import AppError

FOLDER = Path(__file__).parent / "recordings"


def names() -> list[str]:
    """Names of the recordings, sorted."""
    return sorted(path.name.removesuffix(".tar.xz") for path in FOLDER.glob("*.tar.xz"))


def unpack(name: str, into: Path) -> Path:
    """The run folder `into/name`, unpacked if it is not there yet.

    Uses tarfile's "data" filter: no links out of the folder, no devices, no absolute paths.
    Raises AppError for a name that is not a recording. About 0.4 s per MB of archive.
    """
    archive = FOLDER / f"{name}.tar.xz"
    if name not in names():
        raise AppError(
            f"there is no recording {name!r}", hint=f"choose one of {', '.join(names())}"
        )
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
