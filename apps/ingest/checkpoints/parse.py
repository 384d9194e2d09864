"""Checkpoint events. Plain Python."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import msgspec

from apps.core.errors import BadPayload
from apps.core.records import CheckpointSeen
from apps.ingest import frames

MAX_EVENTS = 10_000


class _Event(msgspec.Struct, frozen=True):
    ts: float
    step: int
    path: str
    files: dict[str, int]
    save_s: float | None = None
    metadata_b64: str | None = None


class _Body(msgspec.Struct, frozen=True):
    events: list[_Event]
    attempt: int | None = None
    time_shift_ns: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointBatch:
    """Checkpoints in the order they were announced."""

    attempt: int | None
    seen: tuple[CheckpointSeen, ...]


def parse(body: bytes) -> CheckpointBatch:
    """The checkpoints of a body; BadPayload says which field is wrong."""
    found = frames.decode(body, _Body)
    if len(found.events) > MAX_EVENTS:
        raise BadPayload(f"more than {MAX_EVENTS} events", where="events")
    seen = (_seen(e, f"events[{at}]", found.time_shift_ns) for at, e in enumerate(found.events))
    return CheckpointBatch(found.attempt, tuple(seen))


def _seen(event: _Event, where: str, shift_ns: int) -> CheckpointSeen:
    if event.step < 0 or not event.path:
        raise BadPayload("a checkpoint needs a step and a path", where=where)
    if any(size < 0 for size in event.files.values()):
        raise BadPayload("a file size is negative", where=f"{where}.files")
    if not 0 <= event.ts < 4e9:
        raise BadPayload(f"{event.ts} is not Unix seconds", where=f"{where}.ts")
    try:
        metadata = (
            base64.b64decode(event.metadata_b64, validate=True) if event.metadata_b64 else None
        )
    except binascii.Error as error:
        raise BadPayload(f"not base64: {error}", where=f"{where}.metadata_b64") from error
    return CheckpointSeen(
        step=event.step,
        path=event.path,
        saved_at_ns=int(event.ts * 1e9) + shift_ns,
        save_s=event.save_s,
        files=event.files,
        metadata=metadata,
    )
