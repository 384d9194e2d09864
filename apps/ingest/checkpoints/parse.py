"""Checkpoint events. Plain Python."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from apps.checkpoints.domain.spoken import Said, Speech
from apps.core.errors import BadPayload
from apps.core.records import CheckpointSeen
from apps.ingest import frames


class _Event(msgspec.Struct, frozen=True):
    ts: Annotated[float, msgspec.Meta(ge=0, lt=4e9)]
    step: frames.Whole
    path: Annotated[str, msgspec.Meta(min_length=1)]
    files: dict[str, frames.Whole] | None = None
    event: Literal["saved", "requested", "loading", "restored", "deleted"] = "saved"
    save_s: float | None = None
    metadata_b64: str | None = None


class _Body(msgspec.Struct, frozen=True):
    events: Annotated[list[_Event], msgspec.Meta(max_length=10_000)]
    attempt: frames.Attempt | None = None
    time_shift_ns: frames.Shift = 0


@dataclass(frozen=True, slots=True)
class CheckpointBatch:
    """What was announced, in its order: checkpoints that were saved, and what else became of
    them."""

    attempt: int | None
    events: tuple[CheckpointSeen | Said, ...]

    @property
    def times_ns(self) -> list[int]:
        """When each of it happened."""
        return [e.at_ns if isinstance(e, Said) else e.saved_at_ns for e in self.events]


def parse(body: bytes) -> CheckpointBatch:
    """The checkpoints of a body; BadPayload says which field is wrong."""
    found = frames.decode(body, _Body)
    seen = (_seen(e, f"events[{at}]", found.time_shift_ns) for at, e in enumerate(found.events))
    return CheckpointBatch(found.attempt, tuple(seen))


def _seen(event: _Event, where: str, shift_ns: int) -> CheckpointSeen | Said:
    at_ns = int(event.ts * 1e9) + shift_ns
    if event.event != "saved":
        return Said(Speech(event.event), "", event.step, event.path, at_ns)
    if event.files is None:
        raise BadPayload(
            "what was saved has no list of its files",
            where=f"{where}.files",
            hint='name -> bytes; or say "event": "requested" where the save only begins',
        )
    try:
        metadata = (
            base64.b64decode(event.metadata_b64, validate=True) if event.metadata_b64 else None
        )
    except binascii.Error as error:
        raise BadPayload(f"not base64: {error}", where=f"{where}.metadata_b64") from error
    return CheckpointSeen(
        step=event.step,
        path=event.path,
        saved_at_ns=at_ns,
        save_s=event.save_s,
        files=event.files,
        metadata=metadata,
    )
