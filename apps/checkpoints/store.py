"""Every statement against the tables of checkpoints."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
import zstandard

from apps.checkpoints.domain import inventory
from apps.checkpoints.domain.saves import Saved
from apps.checkpoints.domain.verify import CheckpointFinding
from apps.checkpoints.models import Checkpoint, CheckpointMetadata, CheckpointResave
from apps.checkpoints.records import Check, CheckpointInfo, NewCheckpoint
from apps.core.plain import packed
from apps.core.sql import query

MAX_LISTED = 1_000
MAX_METADATA_BYTES = 8 * 1024 * 1024
"""A larger `.metadata` file is not kept: 8 MiB hold about 50,000 chunks."""

_MAX_BIGINT = 2**63 - 1


def checkpoints(run_id: int, *, limit: int = MAX_LISTED) -> list[CheckpointInfo]:
    """The newest checkpoints of a run, ordered by attempt and step. -- uses the primary key"""
    rows = Checkpoint.objects.filter(run_id=run_id).order_by("-attempt", "-step")
    return [_info(row) for row in rows[: min(limit, MAX_LISTED)]][::-1]


def newest_complete(run_ids: Collection[int]) -> dict[int, CheckpointInfo]:
    """run id -> its complete checkpoint that was saved last. -- uses the primary key"""
    rows = Checkpoint.objects.filter(run_id__in=list(run_ids), complete=True)
    newest = rows.order_by("run_id", "-saved_at_ns", "-attempt", "-step").distinct("run_id")
    return {row.run_id: _info(row) for row in newest}


def newest_saves(run_ids: Collection[int], each: int = 64) -> dict[int, list[Saved]]:
    """run id -> its newest saves, by attempt and step; one statement for all of them, without
    inventories. -- uses the primary key"""
    sql = """
        SELECT c.run_id, c.attempt, c.step, c.saved_at_ns, c.save_s, c.findings
          FROM unnest(%s::bigint[]) AS asked (run_id) JOIN LATERAL (
               SELECT run_id, attempt, step, saved_at_ns, save_s, findings
                 FROM checkpoints_checkpoint WHERE run_id = asked.run_id
                ORDER BY attempt DESC, step DESC LIMIT %s) c ON true
         ORDER BY c.run_id, c.attempt, c.step
    """
    found: dict[int, list[Saved]] = {}
    for run_id, attempt, step, saved_at_ns, save_s, text in query(sql, [list(run_ids), each]):
        findings = msgspec.json.decode(text, type=tuple[CheckpointFinding, ...])
        faults = tuple((f.code, f.message) for f in findings if f.fatal)
        found.setdefault(run_id, []).append(Saved(attempt, step, saved_at_ns, save_s, faults))
    return found


def get(run_id: int, attempt: int, step: int) -> CheckpointInfo | None:
    """One checkpoint. -- uses the primary key"""
    row = Checkpoint.objects.filter(run_id=run_id, attempt=attempt, step=step).first()
    return _info(row) if row else None


def at_step(run_id: int, step: int) -> list[CheckpointInfo]:
    """The checkpoints of one step in all attempts, newest attempt first."""
    rows = Checkpoint.objects.filter(run_id=run_id, step=step).order_by("-attempt")
    return [_info(row) for row in rows[:MAX_LISTED]]


def lock(run_id: int, attempt: int, step: int) -> CheckpointInfo | None:
    """One checkpoint, locked until the transaction ends. -- uses the primary key"""
    rows = Checkpoint.objects.select_for_update()
    row = rows.filter(run_id=run_id, attempt=attempt, step=step).first()
    return _info(row) if row else None


def add(run_id: int, new: NewCheckpoint, check: Check) -> bool:
    """Adds a checkpoint; False if this step of this attempt is known already."""
    row = Checkpoint(
        run_id=run_id,
        attempt=new.attempt,
        step=new.step,
        path=new.path,
        saved_at_ns=new.saved_at_ns,
        save_s=new.save_s,
        files=inventory.pack(new.files),
        file_count=len(new.files),
        stated_bytes=min(sum(new.files.values()), _MAX_BIGINT),
        inventory_digest=new.digest,
        framework=check.verification.framework,
        level=check.verification.level.value,
        findings=packed(check.findings),
        complete=check.complete,
    )
    where = {"run_id": run_id, "attempt": new.attempt, "step": new.step}
    if Checkpoint.objects.filter(**where).exists():
        return False
    # A concurrent writer may win: then its row stays, and the caller compares with it.
    Checkpoint.objects.bulk_create([row], ignore_conflicts=True)
    stored = Checkpoint.objects.filter(**where).values_list("inventory_digest", flat=True).get()
    return stored == new.digest


def list_files(run_id: int, new: NewCheckpoint, check: Check) -> None:
    """Gives a checkpoint whose files nobody listed the list of a later announcement."""
    where = {"run_id": run_id, "attempt": new.attempt, "step": new.step}
    Checkpoint.objects.filter(**where, inventory_digest=inventory.UNKNOWN).update(
        path=new.path,
        save_s=new.save_s,
        files=inventory.pack(new.files),
        file_count=len(new.files),
        stated_bytes=min(sum(new.files.values()), _MAX_BIGINT),
        inventory_digest=new.digest,
    )
    save_check(run_id, new.attempt, new.step, check)


def add_resave(run_id: int, new: NewCheckpoint) -> bool:
    """Keeps a contradicting announcement; False if this one is kept already."""
    where = {
        "run_id": run_id,
        "attempt": new.attempt,
        "step": new.step,
        "inventory_digest": new.digest,
    }
    if CheckpointResave.objects.filter(**where).exists():
        return False
    CheckpointResave.objects.create(
        **where,
        path=new.path,
        saved_at_ns=new.saved_at_ns,
        save_s=new.save_s,
        files=inventory.pack(new.files),
    )
    return True


def resaved_files(run_id: int, attempt: int, step: int) -> list[dict[str, int]]:
    """The inventories of contradicting announcements, oldest first, at most 5."""
    rows = CheckpointResave.objects.filter(run_id=run_id, attempt=attempt, step=step)
    stored = rows.order_by("saved_at_ns").values_list("files", flat=True)[:5]
    return [inventory.unpack(bytes(files)) for files in stored]


def add_metadata(run_id: int, attempt: int, step: int, content: bytes) -> bool:
    """Keeps the content of a `.metadata` file; False if one is kept already."""
    _, made = CheckpointMetadata.objects.get_or_create(
        run_id=run_id,
        attempt=attempt,
        step=step,
        defaults={
            "content": zstandard.ZstdCompressor(level=3).compress(content),
            "content_bytes": len(content),
        },
    )
    return made


def metadata(run_id: int, attempt: int, step: int) -> bytes | None:
    """The content of the `.metadata` file, None if it was not sent."""
    rows = CheckpointMetadata.objects.filter(run_id=run_id, attempt=attempt, step=step)
    row = rows.first()
    if row is None:
        return None
    return zstandard.ZstdDecompressor().decompress(
        bytes(row.content), max_output_size=row.content_bytes
    )


def unchecked(limit: int) -> list[tuple[int, int, int]]:
    """(run_id, attempt, step) whose metadata was not compared yet. -- ix_checkpoint_unchecked"""
    rows = CheckpointMetadata.objects.filter(checked=False).order_by("run_id", "attempt", "step")
    return list(rows.values_list("run_id", "attempt", "step")[:limit])


def save_check(run_id: int, attempt: int, step: int, check: Check) -> None:
    """The only place that changes what is known about a checkpoint's wholeness."""
    where = {"run_id": run_id, "attempt": attempt, "step": step}
    Checkpoint.objects.filter(**where).update(
        framework=check.verification.framework,
        level=check.verification.level.value,
        findings=packed(check.findings),
        complete=check.complete,
        checked_at_ns=check.checked_at_ns,
    )
    if check.checked_at_ns is not None:
        CheckpointMetadata.objects.filter(**where).update(checked=True)


def _info(row: Checkpoint) -> CheckpointInfo:
    return CheckpointInfo(
        attempt=row.attempt,
        step=row.step,
        path=row.path,
        saved_at_ns=row.saved_at_ns,
        save_s=row.save_s,
        packed_files=bytes(row.files),
        file_count=row.file_count,
        bytes=row.stated_bytes,
        digest=row.inventory_digest,
        framework=row.framework,
        level=row.level,
        findings=msgspec.convert(row.findings, tuple[CheckpointFinding, ...]),
        complete=row.complete,
        checked_at_ns=row.checked_at_ns,
    )
