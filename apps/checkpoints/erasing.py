"""The door to deleting in a storage: what may be deleted, asked of a bounded child process."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from django.conf import settings

from apps.checkpoints.domain.inventory import Inventory
from apps.checkpoints.records import Copy
from apps.checkpoints.scanning import target_of
from apps.checkpoints.storage import places
from apps.checkpoints.storage.places import BadPlace, Place
from apps.checkpoints.storage.process import ChildFailed, Limits, answers
from apps.checkpoints.storage.protocol import EraseAsk, Failed, FileSeen, Objected

LIMIT_S = 240.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """objection: it must not be deleted, in words. trouble: the storage did not answer: try again.
    Both "": it was deleted, or nothing speaks against it."""

    objection: str = ""
    trouble: str = ""

    @property
    def clear(self) -> bool:
        """Whether nothing went wrong."""
        return not self.objection and not self.trouble


def look(copy: Copy, files: Inventory) -> Outcome:
    """What speaks against deleting one place of a checkpoint; nothing is deleted.

    files: its inventory; stamps only where they are those of this place.
    """
    return _asked(copy, files, begun=False, only_look=True)


def erase(copy: Copy, files: Inventory) -> Outcome:
    """Deletes one place of a checkpoint, or what an earlier call left of it.

    The files that frameworks look for go first; at most CHECKPOINT_DELETE_FILES_S a second.
    """
    return _asked(copy, files, begun=True, only_look=False)


def _asked(copy: Copy, files: Inventory, *, begun: bool, only_look: bool) -> Outcome:
    place = _place(copy.uri)
    if isinstance(place, Outcome):
        return place
    if copy.seen_at_ns is None:
        return Outcome(objection=f"nobody has looked at {copy.uri}: add a storage root there")
    folder, name = posixpath.split(place.path)
    alone = list(files) == [name]
    ask = EraseAsk(
        target=target_of(Place(place.bucket, folder) if alone else place, 0),
        files={name: FileSeen(s.size, s.mtime_ns, s.etag) for name, s in files.items()},
        alone=alone,
        within=tuple(root.path for root in settings.CHECKPOINT_DELETE_ROOTS if not root.bucket),
        looked_at_ns=copy.seen_at_ns,
        begun=begun,
        only_look=only_look,
        files_s=settings.CHECKPOINT_DELETE_FILES_S,
    )
    return _answered(ask)


def _answered(ask: EraseAsk) -> Outcome:
    try:
        for answer in answers(ask, Limits(LIMIT_S, settings.CHECKPOINT_SCAN_MEMORY_BYTES)):
            if isinstance(answer, Objected):
                return Outcome(objection=answer.reason)
            if isinstance(answer, Failed):
                return Outcome(trouble=answer.reason)
    except ChildFailed as error:
        return Outcome(trouble=error.message)
    return Outcome()


def _place(uri: str) -> Place | Outcome:
    try:
        place = places.parse(uri)
    except BadPlace as error:
        return Outcome(objection=error.message)
    if places.allowed(place, settings.CHECKPOINT_DELETE_ROOTS):
        return place
    return Outcome(objection=f"{uri} lies outside of CHECKPOINT_DELETE_ROOTS")
