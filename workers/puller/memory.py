"""What the puller remembers of each run: one small file, whole or not there."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec

from apps.core.errors import AppError
from workers.puller.records import Saved
from workers.tailer import durable


class Memory:
    """The files of one folder, for one puller at a time."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise AppError(
                "another puller uses this folder", where=str(folder), hint="give each its own"
            ) from error

    def load(self, key: str) -> Saved | None:
        """What is remembered of a run; None: nothing. AppError if the file cannot be read."""
        path = self._path(key)
        try:
            return msgspec.json.decode(path.read_bytes(), type=Saved)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            hint = "remove it and start the puller with --adopt"
            raise AppError(f"cannot be read ({error})", where=str(path), hint=hint) from error

    def save(self, key: str, saved: Saved) -> None:
        """Remembers it, also through a power cut."""
        durable.write(self._path(key), msgspec.json.encode(saved))

    def close(self) -> None:
        """Lets another puller have the folder."""
        os.close(self._lock)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"
