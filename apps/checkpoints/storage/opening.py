"""A folder to list and read, wherever it lies."""

from __future__ import annotations

from typing import Protocol

from apps.checkpoints.storage.listing import Bounds, Listing
from apps.checkpoints.storage.pace import Pace
from apps.checkpoints.storage.posix import PosixFolder
from apps.checkpoints.storage.protocol import Target
from apps.checkpoints.storage.s3 import S3Folder


class Folder(Protocol):
    """What both kinds of storage offer."""

    def listing(self, bounds: Bounds | None = None) -> Listing:
        """Everything below. Raises OSError."""

    def read(self, name: str, start: int, length: int) -> bytes:
        """A range of one file. Raises Vanished, Unreadable."""


def opened(target: Target) -> Folder:
    """The folder of a target; nothing is asked of it yet. Raises OSError where it leads out of the
    folders that may be looked at."""
    pace = Pace(target.bytes_s)
    if target.bucket:
        return S3Folder(target.bucket, target.path, target.access, pace)
    return PosixFolder(target.path, pace, target.within)
