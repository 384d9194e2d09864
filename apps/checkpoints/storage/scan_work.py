"""One look at a root: listing, checkpoints, headers of those that changed. Runs in the child."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Mapping

import orjson

from apps.checkpoints.domain import checking, layouts
from apps.checkpoints.domain.codes import Level
from apps.checkpoints.domain.contents import CheckPolicy
from apps.checkpoints.domain.layouts.base import FoundStep
from apps.checkpoints.domain.reading import Vanished
from apps.checkpoints.domain.tree import Tree, joined
from apps.checkpoints.storage import mounts, pattern
from apps.checkpoints.storage.listing import Listing
from apps.checkpoints.storage.opening import Folder, opened
from apps.checkpoints.storage.pace import Pace
from apps.checkpoints.storage.pattern import Part
from apps.checkpoints.storage.places import Place
from apps.checkpoints.storage.protocol import (
    Answer,
    BesideSeen,
    Failed,
    FileSeen,
    GoneSeen,
    ListingSeen,
    RoomSeen,
    SameSeen,
    ScanAsk,
    StepSeen,
)

VERIFIER = 1
"""Raise it when the verifier finds what it did not find before: everything is read again."""
WORKERS = 8
"""Reads at the same time: what costs is the time to the first byte."""
Say = Callable[[Answer], None]


def run(ask: ScanAsk, say: Say) -> None:
    """Says what the root is like, then every checkpoint: Same or Step; or Failed alone."""
    target = ask.target
    place = Place(target.bucket, target.path)
    folder = opened(place, target.access, Pace(target.bytes_s))
    try:
        say(room_of(place))
        listing = folder.listing(ask.bounds)
    except FileNotFoundError:
        say(Failed("it is not there", gone=True))
        return
    except OSError as error:
        say(Failed(error.strerror or str(error)))
        return
    parts = _parts(listing, ask.pattern)
    say(_listed(listing, sum(map(len, parts.values()))))
    for part, tree in parts.items():
        _look(folder, part, tree, ask, say)


def room_of(place: Place) -> RoomSeen:
    """On what a place lies and how full that is. Raises OSError."""
    if place.bucket:
        return RoomSeen(mounts.Kind.BUCKET, "s3", place.bucket)
    room = mounts.room(place.path)
    mount = mounts.mount_here(place.path)
    if mount is None:
        return RoomSeen(mounts.Kind.UNKNOWN, "", "", room.total_bytes, room.free_bytes)
    return RoomSeen(mount.kind, mount.type, mount.source, room.total_bytes, room.free_bytes)


def _look(folder: Folder, at: Part, tree: Tree, ask: ScanAsk, say: Say) -> None:
    """Says what one part of the root holds, the newest steps first."""
    called = posixpath.basename(joined(ask.target.path.rstrip("/"), at.folder))
    for found in sorted(layouts.find(tree, called), key=_newest, reverse=True):
        path = joined(at.folder, found.root_name)
        prints = fingerprints(found)
        if ask.known.get(path) in prints:
            say(SameSeen(at.run, path))
            continue
        reader = _Below(folder, at.folder)
        report = checking.check(found, reader, policy=CheckPolicy(workers=WORKERS))
        if reader.gone:
            say(GoneSeen(at.run, path))
        else:
            say(_step(at.run, path, found, report, prints))


def fingerprints(found: FoundStep) -> tuple[str, str]:
    """(of the step alone, with what lies beside it and speaks of it): 64 hex digits each that change
    with anything that a check depends on.

    A pointer changes with every save, and says nothing new of a step that is committed.
    """
    said = [one.as_json() for one in found.findings]
    alone = [VERIFIER, found.layout, found.step, _rows(found.files), said]
    return _digest(alone), _digest([*alone, _rows(found.beside)])


def _step(
    run: str, path: str, found: FoundStep, report: checking.Report, prints: tuple[str, str]
) -> StepSeen:
    committed = report.level is not Level.LISTED
    return StepSeen(
        run=run,
        path=path,
        step=found.step,
        layout=found.layout,
        fingerprint=prints[0] if committed else prints[1],
        saved_at_ns=max((s.mtime_ns or 0 for s in found.files.values()), default=0),
        files={n: FileSeen(s.size, s.mtime_ns, s.etag) for n, s in found.files.items()},
        level=report.level.value,
        findings=report.findings,
        bytes_read=report.bytes_read,
        bytes_total=report.bytes_total,
        unchecked=report.unchecked,
    )


class _Below:
    """A reader of one part of the root, which remembers what went away."""

    def __init__(self, folder: Folder, prefix: str) -> None:
        self._folder = folder
        self._prefix = prefix
        self.gone = False

    def read(self, name: str, start: int, length: int) -> bytes:
        """As `Reader.read`."""
        try:
            return self._folder.read(joined(self._prefix, name), start, length)
        except Vanished:
            self.gone = True
            raise


def _newest(found: FoundStep) -> tuple[int, str]:
    return (-1 if found.step is None else found.step, found.root_name)


def _rows(files: Tree) -> list[list[object]]:
    stats = sorted(files.items())
    return [[name, s.size, s.mtime_ns, s.etag, s.link_to] for name, s in stats]


def _digest(what: object) -> str:
    return hashlib.sha256(orjson.dumps(what)).hexdigest()


def _parts(listing: Listing, shape: str) -> Mapping[Part, Tree]:
    return pattern.split(listing.files, shape) if shape else {Part("", ""): listing.files}


def _listed(listing: Listing, matched: int) -> ListingSeen:
    return ListingSeen(
        files=len(listing.files),
        bytes=sum(stat.size for stat in listing.files.values() if stat.link_to is None),
        cut=listing.cut,
        outside=listing.outside,
        unread=listing.unread,
        vanished=listing.vanished,
        other=listing.other,
        unmatched=len(listing.files) - matched,
    )
