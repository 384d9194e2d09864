"""The only code that deletes in a storage: files by name, in one folder, never through a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from apps.checkpoints.domain.tree import FileStat, Tree
from apps.checkpoints.storage.listing import Listing
from apps.checkpoints.storage.places import Place
from apps.checkpoints.storage.posix import PosixFolder
from apps.checkpoints.storage.s3 import S3Access, S3Folder, client, trouble
from apps.core.errors import AppError
from apps.core.times import ns_of

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Refusal(AppError):
    """Nothing may be deleted there at all."""


def erasable(place: Place, access: S3Access, within: Sequence[str]) -> PosixErasable | S3Erasable:
    """The folder at a place. Refusal if it is a link, or really lies outside of `within`."""
    if place.bucket:
        return S3Erasable(place.bucket, place.path, access)
    return PosixErasable(place.path, within)


class PosixErasable:
    """A folder of a file system. Each file is reached folder by folder without following links."""

    def __init__(self, path: str, within: Sequence[str]) -> None:
        if os.path.islink(path):
            raise Refusal(f"{path} is a link: the checkpoint lies elsewhere")
        real = os.path.realpath(path)
        roots = [os.path.realpath(root) for root in within]
        if not any(real.startswith(root.rstrip("/") + "/") for root in roots):
            raise Refusal(f"{path} really is {real}, outside of where may be deleted")
        self._path = real

    def listing(self) -> Listing:
        """Everything below. Raises OSError."""
        return PosixFolder(self._path).listing()

    def one(self, name: str) -> Tree:
        """A plain file; Refusal if it is anything else."""
        try:
            seen = os.stat(os.path.join(self._path, name), follow_symlinks=False)
        except FileNotFoundError:
            return {}
        if not stat.S_ISREG(seen.st_mode):
            raise Refusal(f"{name} is no plain file")
        return {name: FileStat(seen.st_size, seen.st_mtime_ns)}

    def erase(self, names: Sequence[str]) -> None:
        """Unlinks files; a link itself, never what it leads to."""
        for name in names:
            *folders, last = name.split("/")
            try:
                with self._opened(folders) as folder:
                    os.unlink(last, dir_fd=folder)
            except FileNotFoundError:
                continue

    def tidy(self) -> None:
        """Removes empty folders, deepest first; one that somebody fills meanwhile stays."""
        if not os.path.isdir(self._path):
            return  # an earlier call was killed just after this
        for _, folders, _, folder in os.fwalk(self._path, topdown=False):
            for name in folders:
                _remove(name, folder)
        parent, name = os.path.split(self._path)
        with _held(os.open(parent, _FOLDER)) as above:
            _remove(name, above)

    @contextmanager
    def _opened(self, folders: Sequence[str]) -> Iterator[int]:
        current = os.open(self._path, _FOLDER)
        try:
            for name in folders:
                below = os.open(name, _FOLDER, dir_fd=current)
                os.close(current)
                current = below
            yield current
        finally:
            os.close(current)


class S3Erasable:
    """A folder of a bucket. In a versioned one the objects stay as older versions."""

    def __init__(self, bucket: str, prefix: str, access: S3Access) -> None:
        if not prefix.strip("/"):
            raise Refusal("a checkpoint is never a whole bucket")
        self._bucket = bucket
        self._prefix = f"{prefix.strip('/')}/"
        self._folder = S3Folder(bucket, prefix, access)
        self._store = client(bucket, access)

    def listing(self) -> Listing:
        """Everything below. Raises OSError."""
        return self._folder.listing()

    def one(self, name: str) -> Tree:
        """A single object; {} if it is not there."""
        import obstore

        try:
            with trouble(self._bucket, f"head {name}"):
                meta = obstore.head(self._store, self._prefix + name)
        except FileNotFoundError:
            return {}
        made_ns = ns_of(meta["last_modified"])
        return {name: FileStat(int(meta["size"]), made_ns, etag=meta["e_tag"])}

    def erase(self, names: Sequence[str]) -> None:
        """Deletes objects, many with one request. Raises OSError."""
        import obstore

        with trouble(self._bucket, "delete"):
            if names:
                obstore.delete(self._store, [self._prefix + name for name in names])

    def tidy(self) -> None:
        """A bucket has no folders."""


@contextmanager
def _held(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _remove(name: str, folder: int) -> None:
    try:
        os.rmdir(name, dir_fd=folder)
    except OSError:
        return  # not empty, or a link: it is not ours
