"""Announcements of checkpoints taken in, and their check."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.db import transaction

from apps.checkpoints import store
from apps.checkpoints.domain import inventory
from apps.checkpoints.domain.verify import (
    CheckpointFinding,
    Code,
    Level,
    Verification,
    finding,
    printable,
)
from apps.checkpoints.domain.verify import (
    verify as verify_files,
)
from apps.checkpoints.records import Check, CheckpointInfo, NewCheckpoint
from apps.core import live
from apps.core.clock import now_ns
from apps.core.queue import Job, enqueue
from apps.core.records import CheckpointSeen
from apps.runs import store as runs

_MAX_PATH = 4_000

log = logging.getLogger(__name__)


def record(run_id: int, attempt: int, seen: Sequence[CheckpointSeen]) -> int:
    """Takes in announcements, in the caller's transaction; how many said something new.

    The same step with the same files changes nothing. With other files the first announcement
    stays, the second is kept beside it and the checkpoint gets the finding INVENTORY_MISMATCH.
    One without a list of files says nothing about them: it contradicts nothing, and the first
    list that comes is taken. A doubt about the step becomes the finding STEP_MISMATCH. Metadata
    content is kept and checked by the job checkpoints.verify after the commit.
    """
    return sum(_record(run_id, attempt, announcement) for announcement in seen)


def verify(run_id: int, attempt: int, step: int) -> CheckpointInfo | None:
    """Compares a checkpoint with its metadata content; its new state, None if it is unknown.

    Without the content nothing changes. The level never falls, and a mismatch of announcements
    stays. Repeating it is harmless. About 2 s per 8 MiB of metadata.
    """
    with transaction.atomic():
        known = store.lock(run_id, attempt, step)
        content = store.metadata(run_id, attempt, step)
        if known is None or content is None:
            return known
        found = verify_files(known.files, content)
        doubts = (f for f in known.findings if f.code == Code.STEP_MISMATCH)
        kept = (*doubts, *_mismatches(run_id, known))
        store.save_check(run_id, attempt, step, _check(found, kept, now_ns()))
        transaction.on_commit(lambda: _tell(run_id), robust=True)
    return store.get(run_id, attempt, step)


def verify_unchecked(limit: int = 100) -> int:
    """Checks what a lost job left behind; how many. For the periodic catch-up.

    One that cannot be checked is logged and keeps no other from being checked. At most 100 a call,
    in the order of their keys; about 2 s for each that has 8 MiB of metadata.
    """
    checked = 0
    for run_id, attempt, step in store.unchecked(limit):
        try:
            verify(run_id, attempt, step)
            checked += 1
        except Exception:
            where = {"run": run_id, "attempt": attempt, "step": step}
            log.exception("checkpoints.verify_failed", extra=where)
    return checked


def _record(run_id: int, attempt: int, seen: CheckpointSeen) -> bool:
    files = {} if seen.files is None else seen.files
    new = NewCheckpoint(
        attempt=attempt,
        step=seen.step,
        path=printable(seen.path)[:_MAX_PATH],
        saved_at_ns=seen.saved_at_ns,
        save_s=seen.save_s,
        files=files,
        digest=inventory.UNKNOWN if seen.files is None else inventory.digest(files),
    )
    check = _check(verify_files(files), (*_unchecked(seen), *_doubts(seen)))
    if store.add(run_id, new, check):
        _keep_metadata(run_id, attempt, seen)
        return True
    known = store.lock(run_id, attempt, new.step)
    if known is None or new.digest in (known.digest, inventory.UNKNOWN):
        doubted = known is not None and _doubt(run_id, known, seen)
        return _keep_metadata(run_id, attempt, seen) or doubted
    if known.digest == inventory.UNKNOWN:
        store.list_files(run_id, new, check)
        _keep_metadata(run_id, attempt, seen)
        return True
    return _contradict(run_id, known, new)


def _doubt(run_id: int, known: CheckpointInfo, seen: CheckpointSeen) -> bool:
    """Adds what a repeated announcement says against the step; False if it is known."""
    fresh = tuple(f for f in _doubts(seen) if f not in known.findings)
    if not fresh:
        return False
    verification = Verification(Level(known.level), known.framework, ())
    check = _check(verification, (*known.findings, *fresh), known.checked_at_ns)
    store.save_check(run_id, known.attempt, known.step, check)
    return True


def _contradict(run_id: int, known: CheckpointInfo, new: NewCheckpoint) -> bool:
    """Keeps an announcement with other files beside the first; False if it is kept already."""
    if not store.add_resave(run_id, new):
        return False
    verification = Verification(Level(known.level), known.framework, ())
    others = tuple(f for f in known.findings if f.code != Code.INVENTORY_MISMATCH)
    kept = (*others, *_mismatches(run_id, known))
    check = _check(verification, kept, known.checked_at_ns)
    store.save_check(run_id, new.attempt, new.step, check)
    return True


def _keep_metadata(run_id: int, attempt: int, seen: CheckpointSeen) -> bool:
    content = seen.metadata
    if content is None or len(content) > store.MAX_METADATA_BYTES:
        return False
    if not store.add_metadata(run_id, attempt, seen.step, content):
        return False
    enqueue(Job.CHECKPOINTS_VERIFY, run_id, attempt, seen.step)
    return True


def _unchecked(seen: CheckpointSeen) -> tuple[CheckpointFinding, ...]:
    """What about the announcement keeps the checkpoint from being checked."""
    if seen.files is None:
        text = "it was announced without a list of its files: nothing about it can be checked"
        return (finding(Code.UNCHECKED, text),)
    if seen.metadata is None or len(seen.metadata) <= store.MAX_METADATA_BYTES:
        return ()
    text = (
        f".metadata of {len(seen.metadata)} bytes was not kept "
        f"(limit {store.MAX_METADATA_BYTES}): the headers cannot be verified"
    )
    return (finding(Code.UNCHECKED, text),)


def _doubts(seen: CheckpointSeen) -> tuple[CheckpointFinding, ...]:
    return (finding(Code.STEP_MISMATCH, seen.doubt),) if seen.doubt else ()


def _mismatches(run_id: int, known: CheckpointInfo) -> tuple[CheckpointFinding, ...]:
    """What later announcements of the same step contradict."""
    words = (
        "; ".join(inventory.differences(known.files, other))
        for other in store.resaved_files(run_id, known.attempt, known.step)
    )
    start = f"step {known.step} was announced again with other files"
    return tuple(finding(Code.INVENTORY_MISMATCH, f"{start}: {changes}") for changes in words)


def _check(
    found: Verification, kept: tuple[CheckpointFinding, ...], at_ns: int | None = None
) -> Check:
    findings = (*found.findings, *kept)
    complete = found.level is not Level.LISTED and not any(f.fatal for f in findings)
    return Check(found, complete, findings, at_ns)


def _tell(run_id: int) -> None:
    live.publish(runs.run_by_id(run_id).key, step=None, what=["checkpoints"])
