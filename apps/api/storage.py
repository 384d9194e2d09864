"""Storage roots: where checkpoints are looked for, and what was found there."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Field, Router, Schema, Status

from apps.api.auth import caller, needs
from apps.api.errors import Missing
from apps.api.lookup import Attempt, run_of
from apps.checkpoints import hashes_store, hashing, roots, roots_store, store
from apps.checkpoints.domain.places import place
from apps.checkpoints.root_records import RootInfo, RootRule
from apps.core.clock import now_ns
from apps.core.plain import packed
from apps.runs import store as runs

router = Router(auth=needs("read"))
Number = Annotated[int, Field(ge=0, lt=2**63)]


class RootIn(Schema):
    """Of one run (`run`: its key), or of the runs of `project` by `pattern`. version: the one that
    was read, for a change."""

    uri: str
    run: str | None = None
    project: str = ""
    pattern: str = ""
    every_s: int = roots.EVERY_S
    enabled: bool = True
    version: int = 0

    def rule(self) -> RootRule:
        run_id = None if self.run is None else run_of(self.run).id
        return RootRule(self.uri, run_id, self.project, self.pattern, self.every_s, self.enabled)


class RootOut(Schema):
    """last: what the last look found, null before the first. looking: it is looked at now."""

    id: int
    uri: str
    run: str | None
    project: str
    pattern: str
    every_s: int
    enabled: bool
    version: int
    changed_by: str
    changed_at_ns: int
    next_at_ns: int
    looking: bool
    last: dict[str, Any] | None


class RootList(Schema):
    items: list[RootOut]


class RoomOut(Schema):
    at_ns: int
    free_bytes: int
    total_bytes: int


class RoomList(Schema):
    """How full the file system was at the last looks, oldest first; empty for a bucket."""

    items: list[RoomOut]


def _shape(info: RootInfo) -> dict[str, Any]:
    rule = info.rule
    run = None if rule.run_id is None else runs.keys([rule.run_id]).get(rule.run_id)
    return {
        "id": info.id,
        "uri": rule.uri,
        "run": run,
        "project": rule.project,
        "pattern": rule.pattern,
        "every_s": rule.every_s,
        "enabled": rule.enabled,
        "version": info.version,
        "changed_by": info.changed_by,
        "changed_at_ns": info.changed_at_ns,
        "next_at_ns": info.next_at_ns,
        "looking": info.looking(now_ns()),
        "last": None if info.last is None else packed(info.last),
    }


@router.get("/storage/roots", response=RootList, summary="Where checkpoints are looked for")
def list_roots(request: HttpRequest) -> dict[str, Any]:
    return {"items": [_shape(info) for info in roots_store.roots()]}


@router.post(
    "/storage/roots",
    response={201: RootOut},
    auth=needs("admin"),
    summary="Add a storage root; it is looked at at once",
    description="422 for a folder that CHECKPOINT_ROOTS does not allow, 409 for one that is there.",
)
def add_root(request: HttpRequest, payload: RootIn) -> Status[dict[str, Any]]:
    root_id = roots.add(payload.rule(), caller(request), now_ns())
    return Status(201, _shape(roots.known(root_id)))


@router.get("/storage/roots/{number}", response=RootOut, summary="One storage root")
def get_root(request: HttpRequest, number: Number) -> dict[str, Any]:
    return _shape(roots.known(number))


@router.put(
    "/storage/roots/{number}",
    response=RootOut,
    auth=needs("admin"),
    summary="Change a storage root",
    description="409 when `version` is no longer the newest.",
)
def change_root(request: HttpRequest, number: Number, payload: RootIn) -> dict[str, Any]:
    roots.change(number, payload.rule(), payload.version, caller(request), now_ns())
    return _shape(roots.known(number))


@router.delete(
    "/storage/roots/{number}",
    response={204: None},
    auth=needs("admin"),
    summary="Look there no longer",
    description="Nothing is deleted, and checkpoints that were found there stay registered.",
)
def remove_root(request: HttpRequest, number: Number) -> Status[None]:
    roots.remove(number, caller(request))
    return Status(204, None)


@router.post(
    "/storage/roots/{number}/look",
    response={202: RootOut},
    auth=needs("operate"),
    summary="Look at a storage root now",
)
def look(request: HttpRequest, number: Number) -> Status[dict[str, Any]]:
    roots.hurry(number, caller(request), now_ns())
    return Status(202, _shape(roots.known(number)))


@router.get(
    "/storage/roots/{number}/rooms", response=RoomList, summary="How full a storage root was"
)
def rooms(request: HttpRequest, number: Number) -> dict[str, Any]:
    return {"items": [packed(room) for room in roots.known(number).rooms]}


class ReadingOut(Schema):
    """state: none (nobody asked), waiting, reading, done, failed, cancelled. digest: SHA-256 over
    [name, bytes, sha256] of all files, once it is done."""

    state: str
    uri: str = ""
    asked_by: str = ""
    asked_at_ns: int | None = None
    started_at_ns: int | None = None
    ended_at_ns: int | None = None
    bytes_done: int = 0
    bytes_total: int = 0
    digest: str = ""
    message: str = ""
    findings: list[dict[str, Any]] = Field(default_factory=list)


HASH = "/runs/{key}/checkpoints/{attempt}/{step}/hash"


def _read(key: str, attempt: int, step: int) -> dict[str, Any]:
    run = run_of(key)
    info = store.get(run.id, attempt, step)
    if info is None:
        raise Missing("no such checkpoint", where="step")
    found = hashes_store.get(run.id, attempt, step, place(info.path))
    return {"state": "none"} if found is None else packed(found)


@router.get(HASH, response=ReadingOut, summary="How far the full hash of a checkpoint is")
def get_hash(request: HttpRequest, key: str, attempt: Attempt, step: Number) -> dict[str, Any]:
    return _read(key, attempt, step)


@router.post(
    HASH,
    response={202: ReadingOut},
    auth=needs("operate"),
    summary="Read every byte of a checkpoint in the background",
    description="One at a time, at CHECKPOINT_HASH_BYTES_S. 422 where it cannot be read. One that "
    "failed or was cancelled goes on behind the last file that was read.",
)
def ask_hash(
    request: HttpRequest, key: str, attempt: Attempt, step: Number
) -> Status[dict[str, Any]]:
    hashing.ask(run_of(key).id, attempt, step, caller(request), now_ns())
    return Status(202, _read(key, attempt, step))


@router.delete(HASH, response=ReadingOut, auth=needs("operate"), summary="Cancel a full hash")
def cancel_hash(request: HttpRequest, key: str, attempt: Attempt, step: Number) -> dict[str, Any]:
    hashing.cancel(run_of(key).id, attempt, step, caller(request), now_ns())
    return _read(key, attempt, step)
