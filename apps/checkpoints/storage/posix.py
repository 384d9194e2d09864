"""A folder of a file system: listed, and read in ranges, without ever leaving it.

Whoever may write there may put links, pipes and whole trees there, and change them while they are
looked at. So folders are opened one from the other without following links, and every file is
looked at again once it is open.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Sequence

from apps.checkpoints.domain.reading import Unreadable, Vanished
from apps.checkpoints.domain.tree import FileStat
from apps.checkpoints.storage.listing import Bounds, Listing, Taken, newest_first, sayable
from apps.checkpoints.storage.pace import Pace

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a pipe that nobody writes to would hang the open.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
# ESTALE: how a network file system says that a file is gone.
_GONE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ESTALE))
_DELETED = " (deleted)"


class Outside(OSError):
    """A folder is not where it may be: a part of its path is a link that leads away."""


class PosixFolder:
    """A folder below `root`: an absolute path, whose links are followed once, here.

    within: folders one of which has to hold it when links are followed; empty: any place. Raises
    Outside.
    """

    def __init__(self, root: str, pace: Pace | None = None, within: Sequence[str] = ()) -> None:
        self.root = os.path.realpath(root)
        if within and not any(_within(os.path.realpath(one), self.root) for one in within):
            raise Outside(f"{root} leads out of the folders that may be looked at")
        self._pace = pace or Pace(0)

    def listing(self, bounds: Bounds | None = None) -> Listing:
        """Everything below. Raises OSError if the folder itself cannot be opened."""
        limits = bounds or Bounds()
        taken = Taken(limits, time.monotonic() + limits.seconds)
        folder = os.open(self.root, _FOLDER)
        try:
            if os.readlink(f"/proc/self/fd/{folder}") != self.root:
                raise Outside(f"{self.root} was replaced by a link")
            self._walk(folder, "", taken, 0)
        finally:
            os.close(folder)
        return taken.listing()

    def read(self, name: str, start: int, length: int) -> bytes:
        """The bytes [start, start + length) of a file, fewer where it ends before.

        A negative start counts from the end. Raises Vanished, and Unreadable for all other
        trouble: also for what leads out of the folder or is no plain file.
        """
        try:
            file = os.open(os.path.join(self.root, name), _FILE)
            try:
                size = self._checked(file, name)
                self._pace.spend(length)
                return _pread(file, max(0, size + start) if start < 0 else start, length)
            finally:
                os.close(file)
        except OSError as error:
            if error.errno in _GONE:
                raise Vanished("the file is not there", where=name) from error
            raise Unreadable(f"it cannot be read: {error.strerror}", where=name) from error

    def _checked(self, file: int, name: str) -> int:
        """Size of an open file. The name may have become a link since it was listed."""
        if not _within(self.root, os.readlink(f"/proc/self/fd/{file}").removesuffix(_DELETED)):
            raise Unreadable("it leads out of the folder and is not followed", where=name)
        seen = os.fstat(file)
        if not stat.S_ISREG(seen.st_mode):
            raise Unreadable("it is no plain file", where=name)
        return seen.st_size

    def _walk(self, folder: int, prefix: str, taken: Taken, depth: int) -> None:
        below: list[str] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if taken.full(time.monotonic()):
                    taken.miss(prefix.rstrip("/"))
                    return
                if self._entry(folder, entry, prefix, taken):
                    below.append(entry.name)
        for name in sorted(below, key=newest_first, reverse=True):
            if depth >= taken.bounds.depth:
                taken.miss(prefix + name, prefix + name, "folders lie too deep in each other")
            elif not taken.cut:
                self._descend(folder, name, prefix, taken, depth + 1)

    def _descend(self, folder: int, name: str, prefix: str, taken: Taken, depth: int) -> None:
        try:
            below = os.open(name, _FOLDER, dir_fd=folder)
        except FileNotFoundError:
            taken.vanished += 1
            return
        except OSError as error:
            taken.miss(prefix + name, prefix + name, error.strerror or "")
            return
        try:
            self._walk(below, f"{prefix}{name}/", taken, depth)
        except OSError as error:
            taken.miss(prefix + name, prefix + name, error.strerror or "")
        finally:
            os.close(below)

    def _entry(self, folder: int, entry: os.DirEntry[str], prefix: str, taken: Taken) -> bool:
        """Takes one entry in; True for a folder to descend to."""
        name = prefix + entry.name
        if not sayable(name):
            shown = os.fsencode(name)[:100].decode("utf-8", "replace")
            taken.miss(prefix.rstrip("/"), shown, "its name is too long or no UTF-8")
            return False
        try:
            seen = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(seen.st_mode):
                return True
            if stat.S_ISLNK(seen.st_mode):
                self._link(folder, entry.name, name, taken)
            elif stat.S_ISREG(seen.st_mode):
                taken.files[name] = FileStat(seen.st_size, seen.st_mtime_ns)
            else:
                taken.other += 1
        except FileNotFoundError:
            taken.vanished += 1
        except OSError as error:
            taken.miss(prefix.rstrip("/"), name, error.strerror or "")
        return False

    def _link(self, folder: int, last: str, name: str, taken: Taken) -> None:
        said = os.readlink(last, dir_fd=folder)
        target = os.path.realpath(os.path.join(self.root, name))
        if not _within(self.root, target):
            taken.outside.append(f"{name} -> {said[:200]}")
            taken.miss(os.path.dirname(name))
        elif not sayable(said):
            taken.miss(os.path.dirname(name), name, "what it names is too long or no UTF-8")
        elif os.path.isdir(target):
            taken.linked[name] = os.path.relpath(target, self.root)
        else:
            taken.files[name] = _linked(target, said)


def _linked(target: str, said: str) -> FileStat:
    """A link to a file within the folder; one that leads nowhere has size 0."""
    try:
        seen = os.stat(target, follow_symlinks=False)
    except FileNotFoundError:
        return FileStat(0, None, link_to=said)
    size = seen.st_size if stat.S_ISREG(seen.st_mode) else 0
    return FileStat(size, seen.st_mtime_ns, link_to=said)


def _within(root: str, path: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _pread(file: int, at: int, length: int) -> bytes:
    """As many bytes as there are: one call may give fewer on a network file system."""
    parts: list[bytes] = []
    while length > 0 and (part := os.pread(file, length, at)):
        parts.append(part)
        at += len(part)
        length -= len(part)
    return b"".join(parts)
