"""Every statement against the readings of whole checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import zstandard
from django.db.models import QuerySet

from apps.checkpoints.domain.codes import CheckpointFinding
from apps.checkpoints.domain.hashing import Hashed
from apps.checkpoints.domain.places import key_of, place
from apps.checkpoints.models import ContentHash
from apps.core.plain import packed
from apps.core.sql import one_at_a_time

MAX_FILES_BYTES = 256 * 1024 * 1024
OPEN = ("waiting", "reading")


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of all bytes in one place. state: waiting, reading, done, failed, cancelled.

    bytes_done of bytes_total: how far it is. heard_at_ns: of the process that reads. digest: of all
    content, once it is done. message: what it said at its end.
    """

    run_id: int
    attempt: int
    step: int
    uri: str
    state: str
    asked_by: str
    asked_at_ns: int
    started_at_ns: int | None
    ended_at_ns: int | None
    heard_at_ns: int
    bytes_done: int
    bytes_total: int
    digest: str
    findings: tuple[CheckpointFinding, ...]
    message: str

    @property
    def open(self) -> bool:
        """Whether it waits or goes on."""
        return self.state in OPEN

    @property
    def percent(self) -> int:
        """How far it is, 0 to 100."""
        return 100 if not self.bytes_total else int(100 * self.bytes_done / self.bytes_total)


def get(run_id: int, attempt: int, step: int, uri: str) -> Reading | None:
    """The newest reading of a checkpoint in one place. -- uses the primary key"""
    row = _rows(run_id, attempt, step, uri).first()
    return _reading(row) if row else None


def of_checkpoint(run_id: int, attempt: int, step: int) -> list[Reading]:
    """The newest reading of each place, by address. -- uses the primary key"""
    rows = ContentHash.objects.filter(run_id=run_id, attempt=attempt, step=step)
    return [_reading(row) for row in rows.order_by("uri")[:50]]


def standing(run_id: int, uri: str, inventory_digest: str) -> tuple[CheckpointFinding, ...]:
    """What the last reading of a place found, as long as names and sizes are those it read."""
    rows = ContentHash.objects.filter(
        run_id=run_id, place_key=key_of(uri), inventory_digest=inventory_digest
    )
    found = rows.order_by("-ended_at_ns").values_list("findings", flat=True).first()
    return msgspec.convert(found or [], tuple[CheckpointFinding, ...])


def ask(reading: Reading, inventory_digest: str) -> None:
    """A reading that waits. What an earlier one read is what it is compared with; one that failed
    or was cancelled goes on where it stopped, if the files have the sizes they had."""
    old = _rows(reading.run_id, reading.attempt, reading.step, reading.uri).first()
    same = old is not None and old.inventory_digest == inventory_digest
    goes_on = old is not None and same and old.state != "done"
    row = ContentHash(
        run_id=reading.run_id,
        attempt=reading.attempt,
        step=reading.step,
        place_key=key_of(reading.uri),
        uri=place(reading.uri),
        state="waiting",
        asked_by=reading.asked_by,
        asked_at_ns=reading.asked_at_ns,
        bytes_total=reading.bytes_total,
        bytes_done=old.bytes_done if old and goes_on else 0,
        files=old.files if old and goes_on else b"",
        before=(old.before if goes_on else old.files) if old else b"",
        inventory_digest=inventory_digest,
        findings=old.findings if old and same else [],
    )
    if old:
        row.save(force_update=True)
    else:
        row.save(force_insert=True)


def waiting(silent_before_ns: int, limit: int = 20) -> list[tuple[int, int, int, str]]:
    """(run, attempt, step, uri) of those that wait or whose reader died, longest waiting first.
    -- uses ix_content_hash_open"""
    rows = ContentHash.objects.filter(state__in=OPEN, heard_at_ns__lt=silent_before_ns)
    keys = rows.order_by("asked_at_ns").values_list("run_id", "attempt", "step", "uri")
    return list(keys[:limit])


def claim(
    run_id: int, attempt: int, step: int, uri: str, now_ns: int, silent_before_ns: int
) -> bool:
    """Takes one for reading; False if it is taken, or another one is being read: one at a time, so
    that the rate holds. -- uses ix_content_hash_open"""
    one_at_a_time("checkpoints.hash")
    busy = ContentHash.objects.filter(state="reading", heard_at_ns__gte=silent_before_ns)
    if busy.exists():
        return False
    rows = _rows(run_id, attempt, step, uri).filter(state__in=OPEN)
    return rows.update(state="reading", started_at_ns=now_ns, heard_at_ns=now_ns) == 1


def read_before(
    run_id: int, attempt: int, step: int, uri: str
) -> tuple[dict[str, Hashed], dict[str, Hashed]]:
    """(what was read so far, what an earlier reading found)."""
    row = _rows(run_id, attempt, step, uri).values_list("files", "before").first()
    files, before = row or (b"", b"")
    return _unpack(files), _unpack(before)


def note(
    reading: Reading, bytes_done: int, files: Mapping[str, Hashed] | None, now_ns: int
) -> bool:
    """Keeps how far it is, and what was read if that is new; False once somebody cancelled it."""
    changes: dict[str, Any] = {"bytes_done": bytes_done, "heard_at_ns": now_ns}
    if files is not None:
        changes["files"] = _pack(files)
    rows = _rows(reading.run_id, reading.attempt, reading.step, reading.uri)
    return rows.filter(state="reading").update(**changes) == 1


def end(
    reading: Reading,
    state: str,
    message: str,
    now_ns: int,
    found: tuple[str, tuple[CheckpointFinding, ...]] | None = None,
) -> bool:
    """Ends one that waits or goes on; False if it has ended already. found: (digest, findings)."""
    changes: dict[str, Any] = {"state": state, "message": message[:2_000], "ended_at_ns": now_ns}
    if found is not None:
        changes |= {"digest": found[0], "findings": packed(found[1])}
    rows = _rows(reading.run_id, reading.attempt, reading.step, reading.uri)
    return rows.filter(state__in=OPEN).update(**changes) == 1


def _rows(run_id: int, attempt: int, step: int, uri: str) -> QuerySet[ContentHash]:
    return ContentHash.objects.filter(
        run_id=run_id, attempt=attempt, step=step, place_key=key_of(uri)
    )


def _pack(files: Mapping[str, Hashed]) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(msgspec.json.encode(files))


def _unpack(body: bytes | memoryview) -> dict[str, Hashed]:
    if not body:
        return {}
    text = zstandard.ZstdDecompressor().decompress(bytes(body), max_output_size=MAX_FILES_BYTES)
    return msgspec.json.decode(text, type=dict[str, Hashed])


def _reading(row: ContentHash) -> Reading:
    return Reading(
        run_id=row.run_id,
        attempt=row.attempt,
        step=row.step,
        uri=row.uri,
        state=row.state,
        asked_by=row.asked_by,
        asked_at_ns=row.asked_at_ns,
        started_at_ns=row.started_at_ns,
        ended_at_ns=row.ended_at_ns,
        heard_at_ns=row.heard_at_ns,
        bytes_done=row.bytes_done,
        bytes_total=row.bytes_total,
        digest=row.digest,
        findings=msgspec.convert(row.findings, tuple[CheckpointFinding, ...]),
        message=row.message,
    )
