"""One checkpoint deleted, exactly as it was registered. Runs in the child."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from apps.checkpoints.domain.deletion import in_order, objection
from apps.checkpoints.domain.tree import Tree
from apps.checkpoints.storage.erasing import Refusal, erasable
from apps.checkpoints.storage.listing import Listing
from apps.checkpoints.storage.pace import Pace
from apps.checkpoints.storage.places import Place
from apps.checkpoints.storage.protocol import Answer, EraseAsk, Erased, Failed, Objected

BATCH = 500
Say = Callable[[Answer], None]


class Erasable(Protocol):
    """What both kinds of storage offer to whoever deletes."""

    def listing(self) -> Listing:
        """Everything below. Raises OSError; Refusal where nothing may be deleted at all."""

    def one(self, name: str) -> Tree:
        """A single file; empty if it is not there. The same errors."""

    def erase(self, names: Sequence[str]) -> None:
        """Deletes files; one that is gone already is fine. Raises OSError."""

    def tidy(self) -> None:
        """Removes the folders that are empty now, the folder itself last. Raises OSError."""


def run(ask: EraseAsk, say: Say) -> None:
    """Says Erased, or Objected before the first file, or Failed."""
    target = ask.target
    place = Place(target.bucket, target.path)
    try:
        folder = erasable(place, target.access, ask.within)
        why, found = _judged(folder, ask)
        if why is not None:
            say(Objected(why))
        elif ask.only_look:
            say(Erased(0))
        else:
            say(Erased(_erased(folder, sorted(found), ask)))
    except Refusal as error:
        say(Objected(error.message))
    except OSError as error:
        say(Failed(error.strerror or str(error)))


def _judged(folder: Erasable, ask: EraseAsk) -> tuple[str | None, Tree]:
    """(what speaks against it, the files that are there)."""
    found: Tree = {}
    try:
        if ask.alone:
            found = folder.one(next(iter(ask.files), ""))
        else:
            listing = folder.listing()
            found = listing.files
            if not listing.whole or listing.outside or listing.other:
                return _odd(listing), found
    except FileNotFoundError:
        found = {}
    why = objection(ask.files, found, looked_at_ns=ask.looked_at_ns, begun=ask.begun)
    return why, found


def _odd(listing: Listing) -> str:
    if listing.cut:
        return listing.cut
    named = (*listing.unread, *listing.outside)
    return f"it holds what was not registered: {named[0]}" if named else "it holds pipes or devices"


def _erased(folder: Erasable, names: Sequence[str], ask: EraseAsk) -> int:
    pace = Pace(ask.files_s)
    batch = max(1, min(BATCH, ask.files_s or BATCH))
    for part in in_order(names):
        for start in range(0, len(part), batch):
            names_now = part[start : start + batch]
            pace.spend(len(names_now))
            folder.erase(names_now)
    if not ask.alone:
        folder.tidy()
    return len(names)
