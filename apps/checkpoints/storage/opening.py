"""A folder to list and read, wherever it lies."""

from __future__ import annotations

from typing import Protocol

from apps.checkpoints.storage.listing import Bounds, Listing
from apps.checkpoints.storage.pace import Pace
from apps.checkpoints.storage.places import Place
from apps.checkpoints.storage.posix import PosixFolder
from apps.checkpoints.storage.s3 import S3Access, S3Folder


class Folder(Protocol):
    """What both kinds of storage offer."""

    def listing(self, bounds: Bounds | None = None) -> Listing:
        """Everything below. Raises OSError."""

    def read(self, name: str, start: int, length: int) -> bytes:
        """A range of one file. Raises Vanished, Unreadable."""


def opened(place: Place, access: S3Access, pace: Pace) -> Folder:
    """The folder at a place; nothing is asked of it yet."""
    if place.bucket:
        return S3Folder(place.bucket, place.path, access, pace)
    return PosixFolder(place.path, pace)
