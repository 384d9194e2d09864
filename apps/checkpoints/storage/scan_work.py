"""One look at a root: listing, checkpoints, headers of those that changed. Runs in the child."""

from __future__ import annotations

import hashlib
import posixpath
import resource
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import orjson

from apps.checkpoints.domain import checking, layouts
from apps.checkpoints.domain.codes import Level
from apps.checkpoints.domain.headers.base import CheckPolicy
from apps.checkpoints.domain.layouts import BY_NAME
from apps.checkpoints.domain.layouts.base import FoundStep
from apps.checkpoints.domain.reading import Vanished
from apps.checkpoints.domain.root import check_root
from apps.checkpoints.domain.tree import Tree, joined
from apps.checkpoints.storage import mounts, pattern
from apps.checkpoints.storage.listing import Listing
from apps.checkpoints.storage.opening import Folder, opened
from apps.checkpoints.storage.pattern import Part
from apps.checkpoints.storage.places import Place
from apps.checkpoints.storage.protocol import (
    Answer,
    BesideSeen,
    Failed,
    FileSeen,
    GoneSeen,
    ListingSeen,
    PartSeen,
    RoomSeen,
    SameSeen,
    ScanAsk,
    StepSeen,
)

VERIFIER = 2
"""Raise it when the verifier finds what it did not find before: everything is read again."""
_SHARE = 8
"""Part of the memory that a `.metadata` may take: parsing wants as much again as reading."""
WORKERS = 8
"""Reads at the same time: what costs is the time to the first byte."""
_MARKERS = frozenset(
    (".metadata", "metadata.json", "common.pt", "trainer_state.json", "_CHECKPOINT_METADATA",
     "commit_success.txt", ".metadata.json", "model.safetensors.index.json")
)  # fmt: skip
"""Written last, and seldom touched later: they tell when a save was complete."""
Say = Callable[[Answer], None]
T = TypeVar("T")


def run(ask: ScanAsk, say: Say) -> None:
    """Says what the root is like, then every checkpoint: Same or Step; or Failed alone."""
    target = ask.target
    place = Place(target.bucket, target.path)
    try:
        folder = opened(target)
        say(room_of(place))
        listing = folder.listing(ask.bounds)
    except FileNotFoundError:
        say(Failed("it is not there", gone=True))
        return
    except OSError as error:
        say(Failed(error.strerror or str(error)))
        return
    parts = _parts(listing.files, ask.pattern)
    links = _parts(listing.linked, ask.pattern)
    say(_listed(listing, sum(map(len, parts.values()))))
    for part, tree in parts.items():
        found = _look(folder, part, (tree, listing.holes), ask, say)
        if listing.cut:
            continue  # what a pointer names may be what was cut
        seen = [*found, *_linked(part, found, links.get(part, {}))]
        for one in check_root(tree, seen, _Below(folder, part.folder)):
            say(BesideSeen(part.run, part.folder, one))


def room_of(place: Place) -> RoomSeen:
    """On what a place lies and how full that is. Raises OSError."""
    if place.bucket:
        return RoomSeen(mounts.Kind.BUCKET, "s3", place.bucket)
    room = mounts.room(place.path)
    mount = mounts.mount_here(place.path)
    if mount is None:
        return RoomSeen(mounts.Kind.UNKNOWN, "", "", room.total_bytes, room.free_bytes)
    return RoomSeen(mount.kind, mount.type, mount.source, room.total_bytes, room.free_bytes)


def _look(
    folder: Folder, at: Part, listed: tuple[Tree, frozenset[str]], ask: ScanAsk, say: Say
) -> tuple[FoundStep, ...]:
    """Says what one part of the root holds, the newest steps first; all of them.

    listed: its files, and the holes of the listing.
    """
    tree, holes = listed
    called = posixpath.basename(joined(ask.target.path.rstrip("/"), at.folder))
    steps = layouts.find(tree, called)
    for found in sorted(steps, key=_newest, reverse=True):
        path = joined(at.folder, found.root_name)
        if is_partial(found, at.folder, holes):
            say(PartSeen(at.run, path))
            continue
        prints = fingerprints(found)
        if ask.known.get(path) in prints:
            say(SameSeen(at.run, path))
            continue
        reader = _Below(folder, at.folder)
        report = checking.check(found, reader, policy=_policy())
        if reader.gone:
            say(GoneSeen(at.run, path))
        else:
            say(_step(at.run, path, found, report, prints))
    return steps


def is_partial(found: FoundStep, folder: str, holes: Collection[str]) -> bool:
    """Whether something may be missing of a step only because it was not listed: inside it, or
    beside it where a pointer says that it is complete. folder: what its names are relative to."""
    own = joined(folder, found.root_name)
    if any(hole == own or hole.startswith(f"{own}/") or not own for hole in holes):
        return True
    return BY_NAME[found.layout].pointer is not None and own.rpartition("/")[0] in holes


def _policy() -> CheckPolicy:
    """A `.metadata` that the memory of this process cannot hold is refused, with that reason; the
    file is held twice while it is read."""
    usual = CheckPolicy(workers=WORKERS)
    bound, _ = resource.getrlimit(resource.RLIMIT_AS)
    if bound == resource.RLIM_INFINITY:
        return usual
    return replace(usual, max_metadata_bytes=min(usual.max_metadata_bytes, bound // _SHARE))


def _linked(at: Part, steps: Sequence[FoundStep], links: Mapping[str, str]) -> Iterator[FoundStep]:
    """Steps as links name them: a pointer beside such a link leads somewhere."""
    by_name = {joined(at.folder, step.root_name): step for step in steps}
    for name, target in links.items():
        if target in by_name:
            yield replace(by_name[target], root_name=name)


def fingerprints(found: FoundStep) -> tuple[str, str]:
    """(of the step alone, with what lies beside it and speaks of it): 64 hex digits each, which
    change with anything that a check depends on.

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
        saved_at_ns=_saved_at_ns(found),
        files={n: FileSeen(s.size, s.mtime_ns, s.etag) for n, s in found.files.items()},
        level=report.level.value,
        findings=report.findings,
        bytes_read=report.bytes_read,
        bytes_total=report.bytes_total,
        unchecked=report.unchecked,
    )


def _saved_at_ns(found: FoundStep) -> int:
    """When it was complete: time of its marker, else of its newest file; 0 if there is none."""
    times = {name: stat.mtime_ns or 0 for name, stat in found.files.items()}
    marked = [at for name, at in times.items() if posixpath.basename(name) in _MARKERS]
    return max(marked or times.values(), default=0)


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


def _parts(named: Mapping[str, T], shape: str) -> Mapping[Part, Mapping[str, T]]:
    return pattern.split(named, shape) if shape else {Part("", ""): named}


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
