"""What a look at a folder gives: a bounded tree, and what is not in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.checkpoints.domain.tree import FileStat

MAX_NAME_BYTES = 1_000
MAX_NAMED = 20
"""How many names of each kind of trouble a message shows."""
_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a listing stops. entries: files, folders and links together. depth: of folders."""

    entries: int = 500_000
    depth: int = 24
    seconds: float = 240.0


@dataclass(frozen=True, slots=True)
class Listing:
    """files: name relative to the folder -> what it is.

    cut: why the listing stopped early, "" if it is whole. outside: links that lead out of the
    folder (never followed). linked: name of a link to a folder within -> that folder; what lies
    there is listed under its own name. unread: names that could not be looked at, with the reason.
    holes: folders of which some entries are not in it, whatever the reason; "" is the top.
    vanished: how many entries went away meanwhile. other: sockets, pipes and devices.
    """

    files: Mapping[str, FileStat]
    cut: str = ""
    outside: tuple[str, ...] = ()
    linked: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    holes: frozenset[str] = frozenset()
    vanished: int = 0
    other: int = 0

    @property
    def whole(self) -> bool:
        """Whether what is not in it is really not there."""
        return not self.cut and not self.unread


@dataclass(slots=True)
class Taken:
    """A listing while it is made."""

    bounds: Bounds
    until: float
    files: dict[str, FileStat] = field(default_factory=dict)
    seen: int = 0
    cut: str = ""
    outside: list[str] = field(default_factory=list)
    linked: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    holes: set[str] = field(default_factory=set)
    vanished: int = 0
    other: int = 0

    def full(self, now: float) -> bool:
        """Counts one entry; True, with the reason noted, if the listing has to stop."""
        self.seen += 1
        if self.seen > self.bounds.entries:
            self.cut = f"it holds more than {self.bounds.entries} files: only those were looked at"
        elif now > self.until:
            self.cut = (
                f"listing took longer than {self.bounds.seconds:.0f} s: {self.seen} files seen"
            )
        return bool(self.cut)

    def miss(self, folder: str, name: str = "", why: str = "") -> None:
        """Notes that something of a folder is not listed: a name, or what comes after."""
        self.holes.add(folder)
        if name:
            self.unread.append(f"{name}: {why}")

    def listing(self) -> Listing:
        """What was found."""
        return Listing(
            files=self.files,
            cut=self.cut,
            outside=tuple(self.outside[:MAX_NAMED]),
            linked=self.linked,
            unread=tuple(self.unread[:MAX_NAMED]),
            holes=frozenset(self.holes),
            vanished=self.vanished,
            other=self.other,
        )


def sayable(name: str) -> bool:
    """Whether a name can be kept and shown: UTF-8 of at most MAX_NAME_BYTES bytes, no NUL."""
    try:
        return 0 < len(name.encode()) <= MAX_NAME_BYTES and "\0" not in name
    except UnicodeEncodeError:
        return False


def newest_first(name: str) -> tuple[tuple[int, ...], str]:
    """Sort key, to be used in reverse: folders by the numbers in their names, so that a listing
    that stops early has the newest steps."""
    return tuple(int(found) for found in _NUMBER.findall(name)[:8]), name
