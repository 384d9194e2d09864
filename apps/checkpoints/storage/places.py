"""Addresses of folders that hold checkpoints, and which of them may be looked at."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from apps.core.errors import AppError

MAX_URI = 1_000
_HINT = "an absolute path such as /mnt/ckpt/team, or s3://bucket/prefix"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9]")


class BadPlace(AppError):
    """An address that names no folder Lastgood may look at."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder. bucket: "" for the file system.

    path: absolute and normal in the file system; in a bucket without a slash at either end, and ""
    is the whole bucket.
    """

    bucket: str
    path: str

    @property
    def uri(self) -> str:
        """As people write it: `parse(place.uri) == place`."""
        if not self.bucket:
            return self.path
        return f"s3://{self.bucket}/{self.path}".rstrip("/")

    def holds(self, other: Place) -> bool:
        """Whether `other` is this folder or lies below it. /mnt/a does not hold /mnt/ab."""
        if self.bucket != other.bucket:
            return False
        mine, theirs = self.path.rstrip("/"), other.path.rstrip("/")
        return not mine or mine == theirs or theirs.startswith(mine + "/")


def parse(text: str, where: str = "uri") -> Place:
    """The folder that `/path`, `file:///path` or `s3://bucket/prefix` names.

    where: what an error names. Raises BadPlace: no relative path, no ".." and no "." in it, at most
    MAX_URI characters.
    """
    uri = text.strip()
    if len(uri) > MAX_URI or not uri.isprintable():
        raise BadPlace(f'"{printable(uri)}" is no address', where=where, hint=_HINT)
    scheme, mark, rest = uri.partition("://")
    if not mark:
        return _folder(uri, where)
    if scheme == "file":
        return _folder(rest, where)
    if scheme != "s3":
        raise BadPlace(f'"{scheme}" is no storage Lastgood reads', where=where, hint=_HINT)
    bucket, _, prefix = rest.partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise BadPlace(f'"{bucket[:80]}" is no name of a bucket', where=where, hint=_HINT)
    return Place(bucket, "/".join(_parts(prefix, where)))


def allowed(place: Place, prefixes: Iterable[Place]) -> bool:
    """Whether one of the prefixes holds the place. No prefix: nothing is allowed."""
    return any(prefix.holds(place) for prefix in prefixes)


def printable(text: str) -> str:
    """What a message shows of a text that somebody sent."""
    return "".join(c if c.isprintable() else "?" for c in text[:200])


def _folder(path: str, where: str) -> Place:
    if not path.startswith("/"):
        raise BadPlace(f'"{path[:200]}" is no absolute path', where=where, hint=_HINT)
    return Place("", "/" + "/".join(_parts(path, where)))


def _parts(path: str, where: str) -> list[str]:
    parts = [part for part in path.split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise BadPlace(f'"{path[:200]}" goes up or stays', where=where, hint=_HINT)
    return parts
