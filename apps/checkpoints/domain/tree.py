"""A folder as values: the files a listing saw, and the folders that their names make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class FileStat:
    """A file as a listing saw it.

    size in bytes. mtime_ns: of a file system; etag: of an object store; None: unknown. link_to: the
    text of a symbolic link; then size and times are those of what it leads to, and 0 bytes if it
    leads nowhere.
    """

    size: int
    mtime_ns: int | None = None
    etag: str | None = None
    link_to: str | None = None


Tree = Mapping[str, FileStat]
"""Name -> file. Names are relative to one root, with "/" between their parts, never "..". A folder
exists as far as files lie in it, as in an object store."""


@dataclass(slots=True)
class Folder:
    """One folder of a tree. name: relative to the root, "" for the root itself. called: its own
    name; of the root what the caller calls it. files, folders: directly inside, by their names."""

    name: str
    called: str
    files: dict[str, FileStat] = field(default_factory=dict)
    folders: dict[str, Folder] = field(default_factory=dict)

    def below(self) -> dict[str, FileStat]:
        """Every file below, names relative to this folder. O(files)."""
        return dict(self._walk(""))

    def _walk(self, prefix: str) -> Iterator[tuple[str, FileStat]]:
        for name, stat in self.files.items():
            yield prefix + name, stat
        for name, folder in self.folders.items():
            yield from folder._walk(f"{prefix}{name}/")


def folders_of(tree: Tree, called: str = "") -> Folder:
    """The tree as nested folders, names in order. Files deeper than MAX_DEPTH are left out: no
    framework writes them. O(files x depth)."""
    root = Folder("", called)
    for name in sorted(tree):
        *parents, last = name.split("/")
        if len(parents) > MAX_DEPTH:
            continue
        folder = root
        for part in parents:
            known = folder.folders.get(part)
            if known is None:
                known = folder.folders[part] = Folder(joined(folder.name, part), part)
            folder = known
        folder.files[last] = tree[name]
    return root


def joined(folder: str, name: str) -> str:
    """The name of what lies in a folder; the folder "" is the root."""
    return f"{folder}/{name}" if folder and name else folder or name
