"""What the storage watch judges, read for many runs at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from apps.checkpoints import roots_store, store
from apps.checkpoints.domain.storageroom import Room
from apps.checkpoints.domain.storagewatch import Folder, Held, Said
from apps.checkpoints.root_records import Outcome, RootInfo
from apps.checkpoints.storage import places
from apps.checkpoints.storage.mounts import WARNINGS, Kind

EACH = 64
"""Checkpoints of a run that are judged, newest first."""
_RISKY = (Kind.BUCKET_MOUNT, Kind.MEMORY)
"""A local disk is a matter of where Lastgood runs, not of the job."""


@dataclass(frozen=True, slots=True)
class Storage:
    """What is known of the storage of one run."""

    held: Sequence[Held]
    folders: Sequence[Folder]


def storage_of(run_ids: Collection[int], now_ns: int) -> Mapping[int, Storage]:
    """run id -> its checkpoints, in the order of (attempt, step), and where they lie. Two
    statements for all of them; a run without a checkpoint is left out."""
    held = store.newest_held(run_ids, EACH)
    roots = [root for root in roots_store.roots() if root.rule.enabled] if held else []
    parsed = [(root, places.parse(root.rule.uri)) for root in roots]
    return {
        run_id: Storage(found, tuple(_folder(r, run_id, now_ns) for r in _under(found, parsed)))
        for run_id, found in held.items()
    }


def _under(held: Sequence[Held], roots: Sequence[tuple[RootInfo, places.Place]]) -> list[RootInfo]:
    """The roots that hold the newest checkpoint: where the next one goes, too."""
    try:
        newest = places.parse(held[-1].path)
    except places.BadPlace:
        return []
    return [root for root, place in roots if place.holds(newest)]


def _folder(root: RootInfo, run_id: int, now_ns: int) -> Folder:
    last = root.last
    if last is None:
        return Folder(root.id, root.rule.uri, None, _trouble(root, now_ns))
    kind = Kind(last.kind)
    return Folder(
        root_id=root.id,
        uri=root.rule.uri,
        looked_at_ns=last.at_ns,
        trouble=_trouble(root, now_ns),
        warning=WARNINGS[kind] if kind in _RISKY else "",
        rooms=tuple(Room(one.at_ns, one.free_bytes) for one in root.rooms),
        beside=tuple(
            Said(one.code, one.message, one.fatal)
            for one in last.beside
            if one.run_id in (None, run_id)
        ),
    )


def _trouble(root: RootInfo, now_ns: int) -> str:
    """Why nothing is known of a root; a look that was only cut short knows something."""
    last = root.last
    if root.waits(now_ns):
        return "no storage worker of Lastgood looks at it: is one started?"
    if last is None or last.outcome is Outcome.WHOLE:
        return ""
    return last.message if last.outcome is Outcome.FAILED or not last.files else ""
