"""Checkpoints of a run: the list, one with its inventory, and what keeps it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema
from pydantic import Field

from apps.api.auth import caller, needs
from apps.api.errors import Missing
from apps.api.lookup import Attempt, run_of
from apps.checkpoints import copies_store, marks, store
from apps.checkpoints.domain.inventory import Inventory
from apps.checkpoints.domain.lifecycle import State
from apps.checkpoints.records import CheckpointInfo, Copy, Place, Protection
from apps.core.clock import now_ns
from apps.core.http import json_response

router = Router(auth=needs("read"))
MAX_FILES = 64
"""Larger inventories are only counted in a list."""
MAX_LEASE_S = 7 * 86_400
Step = Annotated[int, Field(ge=0, lt=2**63)]


class FindingOut(Schema):
    code: str
    message: str
    fatal: bool


class CopyOut(Schema):
    """tier: local (one node), shared, bucket. bytes, seen_at_ns: null where nobody looked."""

    uri: str
    tier: str
    state: str
    level: str
    complete: bool
    findings: list[FindingOut]
    bytes: int | None
    seen_at_ns: int | None


class MarkOut(Schema):
    """kind: pin, tag or lease. name: of the tag, or who holds the lease."""

    kind: str
    name: str
    reason: str
    by: str
    at_ns: int
    until_ns: int | None


class CheckpointOut(Schema):
    """state: requested, committing, committed, verified, failed, deleted, lost. level: how far it
    was checked. worth: both and the findings in one word. unchecked: what the last look left
    out. files: of at most 64; all are in the answer about one checkpoint."""

    attempt: int
    step: int
    path: str
    saved_at_ns: int
    save_s: float | None
    file_count: int
    files: dict[str, int]
    bytes: int
    digest: str
    framework: str
    source: str
    state: str
    state_at_ns: int
    why: str
    worth: str
    level: str
    complete: bool
    findings: list[FindingOut]
    checked_at_ns: int | None
    seen_at_ns: int | None
    bytes_read: int | None
    bytes_total: int | None
    unchecked: list[str]
    content_digest: str
    copies: list[CopyOut]
    marks: list[MarkOut]


class CheckpointList(Schema):
    items: list[CheckpointOut]


class FileOut(Schema):
    name: str
    bytes: int
    mtime_ns: int | None
    etag: str | None


class CheckpointDetail(CheckpointOut):
    inventory: list[FileOut]


class MarkList(Schema):
    items: list[MarkOut]


class MarkIn(Schema):
    """kind: pin needs a reason; tag needs a name; lease needs a name (who holds it) and seconds."""

    kind: Literal["pin", "tag", "lease"]
    name: str = ""
    reason: str = ""
    seconds: Annotated[int, Field(gt=0, le=MAX_LEASE_S)] | None = None


@router.get(
    "/runs/{key}/checkpoints",
    response=CheckpointList,
    summary="Checkpoints by attempt and step, at most the newest 1,000",
)
def list_checkpoints(
    request: HttpRequest, key: str, state: State | None = None, complete: bool | None = None
) -> HttpResponse:
    run = run_of(key)
    found = [
        info
        for info in store.outlines(run.id, files=MAX_FILES)
        if state in (None, info.state) and complete in (None, info.complete)
    ]
    copies = copies_store.of_run(run.id, found)
    kept = marks.protections(run.id, now_ns())
    items = [_shape(info, copies[info.place], kept.get(info.place, ())) for info in found]
    return json_response({"items": items})


@router.get(
    "/runs/{key}/checkpoints/{attempt}/{step}",
    response=CheckpointDetail,
    summary="One checkpoint with its inventory",
)
def get_checkpoint(request: HttpRequest, key: str, attempt: Attempt, step: Step) -> HttpResponse:
    run_id = run_of(key).id
    info = store.get(run_id, attempt, step)
    if info is None:
        hint = "GET /api/v1/runs/{key}/checkpoints lists them"
        raise Missing("no such checkpoint", where="step", hint=hint)
    copies = copies_store.all_places(info, copies_store.of_checkpoint(run_id, attempt, step))
    kept = marks.protections(run_id, now_ns()).get(info.place, ())
    shape = _shape(info, copies, kept)
    return json_response({**shape, "inventory": _files(info.inventory)})


@router.post(
    "/runs/{key}/checkpoints/{attempt}/{step}/marks",
    response=MarkList,
    auth=needs("operate"),
    summary="Keep a checkpoint: pin it, give it a name, or lease it for a while",
    description="What is marked is not taken by retention. The same kind and name again replaces "
    "the mark: that is how a lease is prolonged. Pins and tags are audited. 404 if there is no "
    "such checkpoint, 422 if it is gone or the reason is missing.",
)
def add_mark(
    request: HttpRequest, key: str, attempt: Attempt, step: Step, payload: MarkIn
) -> dict[str, Any]:
    run_id, at, who = run_of(key).id, (attempt, step), caller(request)
    if payload.kind == "pin":
        marks.pin(run_id, at, reason=payload.reason, actor=who)
    elif payload.kind == "tag":
        marks.tag(run_id, at, payload.name, reason=payload.reason, actor=who)
    else:
        until_ns = now_ns() + (payload.seconds or 3_600) * 1_000_000_000
        marks.lease(run_id, at, payload.name, until_ns=until_ns, reason=payload.reason, actor=who)
    return _marks(run_id, at)


@router.delete(
    "/runs/{key}/checkpoints/{attempt}/{step}/marks/{kind}",
    response=MarkList,
    auth=needs("operate"),
    summary="Take a mark off",
    description="name: of the tag, or who holds the lease. A mark that is not there is no error.",
)
def drop_mark(
    request: HttpRequest,
    key: str,
    attempt: Attempt,
    step: Step,
    kind: Literal["pin", "tag", "lease"],
    name: str = "",
    reason: str = "",
) -> dict[str, Any]:
    run_id, at, who = run_of(key).id, (attempt, step), caller(request)
    if kind == "pin":
        marks.unpin(run_id, at, reason=reason, actor=who)
    elif kind == "tag":
        marks.untag(run_id, at, name, actor=who)
    else:
        marks.release(run_id, at, name)
    return _marks(run_id, at)


def _marks(run_id: int, at: Place) -> dict[str, Any]:
    return {"items": list(map(_mark, marks.protections(run_id, now_ns()).get(at, ())))}


def _mark(mark: Protection) -> dict[str, Any]:
    return {
        "kind": mark.kind.value,
        "name": mark.name,
        "reason": mark.reason,
        "by": mark.actor,
        "at_ns": mark.made_at_ns,
        "until_ns": mark.until_ns,
    }


def _copy(copy: Copy) -> dict[str, Any]:
    return {
        "uri": copy.uri,
        "tier": copy.tier.value,
        "state": copy.state.value,
        "level": copy.level.value,
        "complete": copy.complete,
        "findings": [f.as_json() for f in copy.findings],
        "bytes": copy.bytes,
        "seen_at_ns": copy.seen_at_ns,
    }


def _files(files: Inventory) -> list[dict[str, Any]]:
    return [
        {"name": name, "bytes": file.size, "mtime_ns": file.mtime_ns, "etag": file.etag}
        for name, file in sorted(files.items())
    ]


_SAME = (
    "attempt",
    "step",
    "path",
    "saved_at_ns",
    "save_s",
    "file_count",
    "bytes",
    "digest",
    "framework",
    "source",
    "state_at_ns",
    "why",
    "level",
    "complete",
    "checked_at_ns",
)


def _shape(
    info: CheckpointInfo, copies: Iterable[Copy], kept: Iterable[Protection]
) -> dict[str, Any]:
    look = info.look
    return {
        **{name: getattr(info, name) for name in _SAME},
        "files": info.files if info.file_count <= MAX_FILES else {},
        "state": info.state.value,
        "worth": info.worth.value,
        "findings": [f.as_json() for f in info.findings],
        "seen_at_ns": look.seen_at_ns if look else None,
        "bytes_read": look.bytes_read if look else None,
        "bytes_total": look.bytes_total if look else None,
        "unchecked": list(look.unchecked) if look else [],
        "content_digest": look.content_digest if look else "",
        "copies": list(map(_copy, copies)),
        "marks": list(map(_mark, kept)),
    }
