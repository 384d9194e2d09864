"""What the storage watch judges, read for many runs at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from apps.checkpoints import roots_store
from apps.checkpoints.domain.codes import CheckpointFinding, Level
from apps.checkpoints.domain.lifecycle import State
from apps.checkpoints.domain.storageroom import Room
from apps.checkpoints.domain.storagewatch import Folder, Held, Said
from apps.checkpoints.records import is_complete
from apps.checkpoints.root_records import Outcome, RootInfo
from apps.checkpoints.storage import places
from apps.checkpoints.storage.mounts import WARNINGS, Kind
from apps.core.sql import query

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
    held = _held(run_ids)
    roots = [root for root in roots_store.roots() if root.rule.enabled] if held else []
    parsed = [(root, places.parse(root.rule.uri)) for root in roots]
    return {
        run_id: Storage(found, tuple(_folder(r, run_id, now_ns) for r in _under(found, parsed)))
        for run_id, found in held.items()
    }


def _held(run_ids: Collection[int]) -> dict[int, list[Held]]:
    """-- uses the primary key"""
    sql = """
        SELECT c.* FROM unnest(%s::bigint[]) AS asked (run_id) JOIN LATERAL (
               SELECT run_id, attempt, step, saved_at_ns, save_s, stated_bytes, state, level,
                      findings, path, why, state_at_ns
                 FROM checkpoints_checkpoint WHERE run_id = asked.run_id
                ORDER BY attempt DESC, step DESC LIMIT %s) c ON true
         ORDER BY c.run_id, c.attempt, c.step
    """
    found: dict[int, list[Held]] = {}
    for run_id, *row in query(sql, [list(run_ids), EACH]):
        found.setdefault(run_id, []).append(_one(*row))
    return found


def _one(
    attempt: int, step: int, saved_at_ns: int, save_s: float | None, size_bytes: int, *told: str
) -> Held:
    state_text, level, findings, path, why, state_at_ns = told
    state = State(state_text)
    said = msgspec.json.decode(findings, type=tuple[CheckpointFinding, ...])
    return Held(
        attempt=attempt,
        step=step,
        saved_at_ns=saved_at_ns,
        save_s=save_s,
        size_bytes=size_bytes,
        state=state,
        complete=is_complete(state, Level(level), said),
        fatal=any(one.fatal for one in said),
        path=path,
        why=why,
        state_at_ns=int(state_at_ns),
    )


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
