"""Files that are either the old one or the whole new one, also after a power cut."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO


def write(path: Path, data: bytes) -> None:
    """Put `data` at `path` in one step: temporary file, fsync, rename, fsync of the folder."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and removals in `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def append(path: Path, line: bytes) -> None:
    """Add a line to `path`, or nothing if that fails.

    A kill in between leaves a part of it that `whole_lines` removes.
    """
    new = not path.exists()
    with path.open("ab", buffering=0) as file:
        before = file.tell()
        try:
            _write_all(file, line + b"\n")
            os.fsync(file.fileno())
        except OSError:
            file.truncate(before)
            raise
    if new:
        sync_folder(path.parent)


def _write_all(file: IO[bytes], data: bytes) -> None:
    """A disk that fills up takes a part, and says so with the next one."""
    while data:
        data = data[file.write(data) :]


def whole_lines(path: Path) -> list[bytes]:
    """The lines that `append` wrote; one that was not finished is cut off the file."""
    if not path.exists():
        return []
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    if end < len(data):
        os.truncate(path, end)
    return data[:end].splitlines()
