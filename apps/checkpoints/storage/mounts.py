"""On what kind of file system a folder lies, and what that means for a checkpoint."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")
MAX_MOUNTINFO_BYTES = 4 * 1024 * 1024
_ESCAPED = re.compile(r"\\([0-7]{3})")
_SHARED = frozenset(
    ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "fuse.ceph", "cifs", "smb3", "wekafs",
     "glusterfs", "fuse.glusterfs", "pvfs2", "9p", "afs", "daos", "fuse.daos", "vastnfs", "quobyte",
     "fuse.juicefs")
)  # fmt: skip
_MEMORY = frozenset(("tmpfs", "ramfs", "hugetlbfs"))
_OBJECT = re.compile(
    r"gcsfuse|s3fs|goofys|mountpoint-s3|mount-s3|rclone|blobfuse|geesefs|ossfs|cosfs|tigrisfs", re.I
)


class Kind(StrEnum):
    """What a folder lies on."""

    LOCAL = "local"
    SHARED = "shared"
    BUCKET_MOUNT = "bucket_mount"
    MEMORY = "memory"
    BUCKET = "bucket"
    UNKNOWN = "unknown"


WARNINGS = {
    Kind.BUCKET_MOUNT: "a bucket mounted as a folder: a rename there copies and deletes each "
    "object, so a save that is renamed into place is not atomic, and a job that dies in between "
    "leaves half a checkpoint under its final name. Save to the bucket itself, or to a file system",
    Kind.MEMORY: "memory of one machine: what lies here is gone when that machine restarts",
    Kind.LOCAL: "a disk of the machine that Lastgood runs on: the hosts of a job see it only if "
    "the job runs on this machine",
}
"""What a person has to know of a kind; SHARED and BUCKET need no warning."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount. point: its folder. type: of the file system. source: what is mounted."""

    point: str
    type: str
    source: str

    @property
    def kind(self) -> Kind:
        """What lies behind it, by the type and, where that only says "fuse", by the source."""
        if self.type in _MEMORY:
            return Kind.MEMORY
        if self.type in _SHARED:
            return Kind.SHARED
        if self.type.startswith("fuse"):
            seen = _OBJECT.search(f"{self.type} {self.source}")
            return Kind.BUCKET_MOUNT if seen else Kind.UNKNOWN
        return Kind.LOCAL


@dataclass(frozen=True, slots=True)
class Room:
    """What a file system holds. free_bytes: what a user other than root may still write."""

    total_bytes: int
    free_bytes: int


def mount_of(mountinfo: str, path: str) -> Mount | None:
    """The mount that holds an absolute path without links; None if the table names none.

    mountinfo: text of /proc/PID/mountinfo (proc(5)). Lines that cannot be read are passed over.
    Of two mounts on one folder the later one counts: it covers the other.
    """
    best: Mount | None = None
    for line in mountinfo.splitlines():
        found = _mount(line)
        if (
            found
            and _holds(found.point, path)
            and len(found.point) >= len(best.point if best else "")
        ):
            best = found
    return best


def mount_here(path: str) -> Mount | None:
    """The same for this machine, links in `path` followed; None where there is no /proc."""
    try:
        with MOUNTINFO.open("rb") as file:
            text = file.read(MAX_MOUNTINFO_BYTES)
    except OSError:
        return None
    return mount_of(text.decode("utf-8", "surrogateescape"), os.path.realpath(path))


def room(path: str) -> Room:
    """How full the file system of a folder is. Raises OSError."""
    seen = os.statvfs(path)
    return Room(seen.f_blocks * seen.f_frsize, seen.f_bavail * seen.f_frsize)


def _mount(line: str) -> Mount | None:
    before, mark, after = line.partition(" - ")
    fields, rest = before.split(" "), after.split(" ")
    if not mark or len(fields) < 6 or len(rest) < 2:
        return None
    return Mount(_plain(fields[4]), rest[0], _plain(rest[1]))


def _plain(text: str) -> str:
    """Space, tab, newline and backslash are octal there."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)


def _holds(point: str, path: str) -> bool:
    return point == "/" or path == point or path.startswith(point + "/")
