"""Every statement against the tables of checkpoints."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import zstandard
from django.db.models import Case, F, Value, When

from apps.checkpoints.domain import inventory
from apps.checkpoints.domain.codes import CheckpointFinding, Code, Level
from apps.checkpoints.domain.inventory import Inventory
from apps.checkpoints.domain.lifecycle import OPEN, PRESENT, State, worth_of
from apps.checkpoints.domain.saves import Saved
from apps.checkpoints.domain.storagewatch import Held
from apps.checkpoints.models import Checkpoint, CheckpointMetadata, CheckpointResave
from apps.checkpoints.records import (
    Check,
    CheckpointInfo,
    Look,
    NewCheckpoint,
    Sketch,
    is_complete,
)
from apps.core.plain import packed
from apps.core.sql import query

MAX_LISTED = 1_000
MAX_METADATA_BYTES = 8 * 1024 * 1024
"""A larger `.metadata` file is not kept: 8 MiB hold about 50,000 chunks."""

_MAX_BIGINT = 2**63 - 1
_NO_FILES = inventory.pack({})


def checkpoints(run_id: int, *, limit: int = MAX_LISTED) -> list[CheckpointInfo]:
    """The newest checkpoints of a run, ordered by attempt and step. -- uses the primary key"""
    rows = Checkpoint.objects.filter(run_id=run_id).order_by("-attempt", "-step")
    return [_info(row) for row in rows[: min(limit, MAX_LISTED)]][::-1]


def outlines(run_id: int, *, files: int = 0) -> list[CheckpointInfo]:
    """The same; inventories of more than so many files are left empty: those of a thousand
    checkpoints of a thousand ranks weigh 100 MB. -- uses the primary key"""
    few = Case(When(file_count__lte=files, then=F("files")), default=Value(_NO_FILES))
    rows = Checkpoint.objects.filter(run_id=run_id).order_by("-attempt", "-step").defer("files")
    found = rows.annotate(few_files=few)[:MAX_LISTED]
    return [_info(row, row.few_files) for row in found][::-1]


def sketches(run_id: int) -> list[Sketch]:
    """The newest checkpoints as marks, by attempt and step; 3 ms for a thousand, of which whole
    rows would cost 50. -- uses the primary key"""
    rows = _newest("saved_at_ns, state, level, findings", [run_id], MAX_LISTED)
    return [_sketch(*row) for _, *row in rows]


def newest_complete(run_ids: Collection[int]) -> dict[int, CheckpointInfo]:
    """run id -> its complete checkpoint that was saved last. -- uses the primary key"""
    rows = Checkpoint.objects.filter(run_id__in=list(run_ids), complete=True)
    newest = rows.order_by("run_id", "-saved_at_ns", "-attempt", "-step").distinct("run_id")
    return {row.run_id: _info(row) for row in newest}


def newest_saves(run_ids: Collection[int], each: int = 64) -> dict[int, list[Saved]]:
    """run id -> its newest saves, by attempt and step; one statement for all of them, without
    inventories. -- uses the primary key"""
    found: dict[int, list[Saved]] = {}
    columns = "saved_at_ns, save_s, findings, state, why"
    for run_id, attempt, step, saved_at_ns, save_s, *told in _newest(columns, run_ids, each):
        faults = _faults(*told)
        found.setdefault(run_id, []).append(Saved(attempt, step, saved_at_ns, save_s, faults))
    return found


def newest_held(run_ids: Collection[int], each: int) -> dict[int, list[Held]]:
    """run id -> its newest checkpoints as the storage watch sees them, in the same way."""
    found: dict[int, list[Held]] = {}
    columns = "saved_at_ns, save_s, stated_bytes, state, level, findings, path, why, state_at_ns"
    for run_id, *row in _newest(columns, run_ids, each):
        found.setdefault(run_id, []).append(_held(*row))
    return found


def _newest(columns: str, run_ids: Collection[int], each: int) -> list[tuple[Any, ...]]:
    """run id, attempt, step and these columns of the newest `each` of every run."""
    sql = f"""
        SELECT c.* FROM unnest(%s::bigint[]) AS asked (run_id) JOIN LATERAL (
               SELECT run_id, attempt, step, {columns}
                 FROM checkpoints_checkpoint WHERE run_id = asked.run_id
                ORDER BY attempt DESC, step DESC LIMIT %s) c ON true
         ORDER BY c.run_id, c.attempt, c.step
    """  # noqa: S608 - columns named in this module
    return query(sql, [list(run_ids), each])


def paths(run_id: int, attempt: int, limit: int = MAX_LISTED) -> list[tuple[int, str]]:
    """(step, path) of the first checkpoints of an attempt, without inventories. -- primary key"""
    rows = Checkpoint.objects.filter(run_id=run_id, attempt=attempt).order_by("step")
    return list(rows.exclude(path="").values_list("step", "path")[:limit])


def complete_places(run_id: int, limit: int = MAX_LISTED) -> list[tuple[int, int]]:
    """(attempt, step) of complete checkpoints, newest first. -- uses the primary key"""
    rows = Checkpoint.objects.filter(run_id=run_id, complete=True).order_by("-attempt", "-step")
    return list(rows.values_list("attempt", "step")[:limit])


def get(run_id: int, attempt: int, step: int) -> CheckpointInfo | None:
    """One checkpoint. -- uses the primary key"""
    row = Checkpoint.objects.filter(run_id=run_id, attempt=attempt, step=step).first()
    return _info(row) if row else None


def at_step(run_id: int, step: int) -> list[CheckpointInfo]:
    """The checkpoints of one step in all attempts, newest attempt first."""
    rows = Checkpoint.objects.filter(run_id=run_id, step=step).order_by("-attempt")
    return [_info(row) for row in rows[:MAX_LISTED]]


def present_steps(run_id: int, attempt: int, steps: Collection[int]) -> set[int]:
    """Which of these steps have a checkpoint that is there. -- uses the primary key"""
    rows = Checkpoint.objects.filter(run_id=run_id, attempt=attempt, step__in=steps)
    there = rows.filter(state__in=[state.value for state in PRESENT])
    return set(there.values_list("step", flat=True))


def lock(run_id: int, attempt: int, step: int) -> CheckpointInfo | None:
    """One checkpoint, locked until the transaction ends. -- uses the primary key"""
    rows = Checkpoint.objects.select_for_update()
    row = rows.filter(run_id=run_id, attempt=attempt, step=step).first()
    return _info(row) if row else None


def lock_all(run_id: int, attempt: int, steps: Collection[int]) -> dict[int, CheckpointInfo]:
    """step -> its checkpoint, locked until the transaction ends. -- uses the primary key"""
    rows = Checkpoint.objects.select_for_update().order_by("step")
    found = rows.filter(run_id=run_id, attempt=attempt, step__in=steps)
    return {row.step: _info(row) for row in found}


def add_all(run_id: int, checkpoints: Sequence[tuple[NewCheckpoint, Check]]) -> None:
    """Adds checkpoints of steps that are not known, in one statement."""
    rows = [_row(run_id, new, check) for new, check in checkpoints]
    Checkpoint.objects.bulk_create(rows, ignore_conflicts=True)


def _row(run_id: int, new: NewCheckpoint, check: Check) -> Checkpoint:
    return Checkpoint(
        run_id=run_id,
        attempt=new.attempt,
        step=new.step,
        saved_at_ns=new.saved_at_ns,
        source=new.source,
        **_files(new),
        **_checked(check),
    )


def add(run_id: int, new: NewCheckpoint, check: Check) -> bool:
    """Adds a checkpoint; False if this step of this attempt is known already."""
    row = _row(run_id, new, check)
    where = {"run_id": run_id, "attempt": new.attempt, "step": new.step}
    if Checkpoint.objects.filter(**where).exists():
        return False
    # A concurrent writer may win: then its row stays, and the caller compares with it.
    Checkpoint.objects.bulk_create([row], ignore_conflicts=True)
    stored = Checkpoint.objects.filter(**where).values_list("inventory_digest", flat=True).get()
    return stored == new.digest


def replace_files(run_id: int, new: NewCheckpoint, check: Check) -> None:
    """Gives a checkpoint the files of a later word about it: nobody had listed them, or it was not
    committed when they were."""
    rows = Checkpoint.objects.filter(run_id=run_id, attempt=new.attempt, step=new.step)
    rows.update(saved_at_ns=new.saved_at_ns, **_files(new))
    save_check(run_id, new.attempt, new.step, check)


def save_stamps(run_id: int, attempt: int, step: int, files: Inventory) -> None:
    """Adds stamps to an inventory whose names and sizes stay."""
    rows = Checkpoint.objects.filter(run_id=run_id, attempt=attempt, step=step)
    rows.update(files=inventory.pack(files))


def save_words(run_id: int, known: CheckpointInfo, *, path: str, save_s: float | None) -> None:
    """Where it lies and how long its save took, as later words about it say."""
    rows = Checkpoint.objects.filter(run_id=run_id, attempt=known.attempt, step=known.step)
    rows.update(path=path, save_s=save_s)


def move(run_id: int, attempt: int, step: int, path: str) -> None:
    """From now on the checkpoint is restored from another place."""
    Checkpoint.objects.filter(run_id=run_id, attempt=attempt, step=step).update(path=path)


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
    return [inventory.sizes(inventory.unpack(bytes(files))) for files in stored]


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
    """The only place that changes what is known about a checkpoint's state and wholeness."""
    where = {"run_id": run_id, "attempt": attempt, "step": step}
    Checkpoint.objects.filter(**where).update(**_checked(check))
    if check.checked_at_ns is not None:
        CheckpointMetadata.objects.filter(**where).update(checked=True)


def open_saves(limit: int = MAX_LISTED) -> dict[int, list[CheckpointInfo]]:
    """run id -> its saves that are under way, oldest first, at most `limit` of all runs.
    -- ix_checkpoint_open"""
    rows = Checkpoint.objects.filter(state__in=[state.value for state in OPEN])
    found: dict[int, list[CheckpointInfo]] = {}
    for row in rows.order_by("run_id", "attempt", "step")[:limit]:
        found.setdefault(row.run_id, []).append(_info(row))
    return found


def _held(
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


def _sketch(
    attempt: int, step: int, saved_at_ns: int, state: str, level: str, findings: str
) -> Sketch:
    found = msgspec.json.decode(findings, type=tuple[CheckpointFinding, ...])
    known = Level(level)
    worth = worth_of(State(state), known, hurt=any(one.fatal for one in found))
    return Sketch(attempt, step, saved_at_ns, worth, known)


def _faults(findings: str, state: str, why: str) -> tuple[tuple[str, str], ...]:
    """What is fatal; a save that failed without a look at its storage lacks its marker."""
    found = msgspec.json.decode(findings, type=tuple[CheckpointFinding, ...])
    fatal = tuple((f.code, f.message) for f in found if f.fatal)
    if state == State.FAILED.value and not fatal:
        return ((Code.NO_COMMIT_MARKER.value, why),)
    return fatal


def _files(new: NewCheckpoint) -> dict[str, Any]:
    total = sum(stamp.size for stamp in new.files.values())
    return {
        "path": new.path,
        "save_s": new.save_s,
        "files": inventory.pack(new.files),
        "file_count": len(new.files),
        "stated_bytes": min(total, _MAX_BIGINT),
        "inventory_digest": new.digest,
    }


def _checked(check: Check) -> dict[str, Any]:
    look = check.look
    return {
        "framework": check.framework,
        "level": check.level.value,
        "findings": packed(check.findings),
        "complete": check.complete,
        "checked_at_ns": check.checked_at_ns,
        "state": check.state.value,
        "state_at_ns": check.state_at_ns,
        "why": check.why,
        "seen_at_ns": look.seen_at_ns if look else None,
        "bytes_read": look.bytes_read if look else None,
        "bytes_total": look.bytes_total if look else None,
        "unchecked": list(look.unchecked) if look else [],
        "content_digest": look.content_digest if look else "",
    }


def _look(row: Checkpoint) -> Look | None:
    if row.seen_at_ns is None:
        return None
    read, total = row.bytes_read or 0, row.bytes_total or 0
    return Look(row.seen_at_ns, read, total, tuple(row.unchecked), row.content_digest)


def outline(row: Checkpoint) -> CheckpointInfo:
    """A row whose inventory was not read."""
    return _info(row, _NO_FILES)


def _info(row: Checkpoint, files: bytes | None = None) -> CheckpointInfo:
    return CheckpointInfo(
        attempt=row.attempt,
        step=row.step,
        path=row.path,
        saved_at_ns=row.saved_at_ns,
        save_s=row.save_s,
        packed_files=bytes(row.files if files is None else files),
        file_count=row.file_count,
        bytes=row.stated_bytes,
        digest=row.inventory_digest,
        framework=row.framework,
        level=row.level,
        findings=msgspec.convert(row.findings, tuple[CheckpointFinding, ...]),
        complete=row.complete,
        checked_at_ns=row.checked_at_ns,
        state=State(row.state),
        state_at_ns=row.state_at_ns,
        why=row.why,
        look=_look(row),
        source=row.source,
    )
