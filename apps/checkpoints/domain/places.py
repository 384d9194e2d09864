"""Where checkpoints lie: addresses, tiers, and the attempt that wrote what is found there. Pure."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, Protocol

_SCHEME: Final = re.compile(r"^(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*)://")
# Names that clusters give to storage that dies with its node.
_LOCAL: Final = re.compile(
    r"^/(?:tmp|dev/shm|local\w*|nvme\w*|ssd\w*|raid\w*|(?:mnt|scratch|data)/(?:local|nvme|ssd)\w*)"
    r"(?:/|$)"
)


class Tier(StrEnum):
    """Who can read a place. local: one node. shared: every node of the site. bucket: anybody with
    the key."""

    LOCAL = "local"
    SHARED = "shared"
    BUCKET = "bucket"


class Started(Protocol):
    """A launch of the run."""

    @property
    def number(self) -> int: ...
    @property
    def started_ns(self) -> int: ...
    @property
    def first_step(self) -> int | None: ...


def place(uri: str) -> str:
    """One spelling of an address: no file://, no slash at the end, no dots in a path."""
    local = uri.removeprefix("file://")
    if _SCHEME.match(local):
        return local.rstrip("/")
    return posixpath.normpath(local) if local.startswith("/") else local.rstrip("/") or local


def key_of(uri: str) -> str:
    """64 hex digits that stand for a place: addresses may be too long for an index."""
    return hashlib.sha256(place(uri).encode("utf-8", "backslashreplace")).hexdigest()


def tier_of(uri: str) -> Tier:
    """The tier that an address looks like; who knows the mount knows better."""
    where = place(uri)
    if _SCHEME.match(where):
        return Tier.BUCKET
    return Tier.LOCAL if _LOCAL.match(where) else Tier.SHARED


def attempt_at(step: int, saved_at_ns: int, attempts: Sequence[Started]) -> int:
    """The attempt that wrote the checkpoint of a step at a time: the newest that had started by
    then, at this step or before it; the first one if there is no such, and 0 if there is none."""
    begun = [
        a.number
        for a in attempts
        if a.started_ns <= saved_at_ns and (a.first_step is None or a.first_step <= step)
    ]
    return max(begun, default=min((a.number for a in attempts), default=0))
