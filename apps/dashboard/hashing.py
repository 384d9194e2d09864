"""What the page of a checkpoint says of its full hash."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from apps.checkpoints import hashes_store, hashing
from apps.checkpoints.domain.places import place
from apps.checkpoints.hashes_store import Reading
from apps.checkpoints.records import CheckpointInfo
from apps.core.errors import AppError


@dataclass(frozen=True, slots=True)
class HashPanel:
    """reading: the newest one, None if nobody asked. refused: why none can be asked for, "" if one
    can. rate: bytes a second; left_s, whole_s: what it takes at that rate; None: at any rate."""

    reading: Reading | None
    refused: str
    rate: int
    left_s: float | None
    whole_s: float | None


def panel(run_id: int, info: CheckpointInfo) -> HashPanel:
    """Of the place that a checkpoint is restored from."""
    reading = hashes_store.get(run_id, info.attempt, info.step, place(info.path))
    rate = settings.CHECKPOINT_HASH_BYTES_S
    left = reading.bytes_total - reading.bytes_done if reading else 0
    return HashPanel(
        reading=reading,
        refused=_refused(info),
        rate=rate,
        left_s=left / rate if rate else None,
        whole_s=info.bytes / rate if rate else None,
    )


def _refused(info: CheckpointInfo) -> str:
    try:
        hashing.check_readable(info)
    except AppError as error:
        return f"{error.message}: {error.hint}" if error.hint else error.message
    return ""
