"""Announcements of checkpoints taken in, and their check."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.db import transaction

from apps.checkpoints import copies_store, store
from apps.checkpoints.checks import (
    check_of,
    differs,
    event_in,
    first_check,
    mismatches,
    moved,
    tell,
    unique,
)
from apps.checkpoints.domain import inventory
from apps.checkpoints.domain.codes import CheckpointFinding, Code, Level, finding, printable
from apps.checkpoints.domain.lifecycle import PRESENT, level_after
from apps.checkpoints.domain.places import place, tier_of
from apps.checkpoints.domain.verify import verify as verify_files
from apps.checkpoints.observing import deleted as deleted
from apps.checkpoints.observing import observe as observe
from apps.checkpoints.observing import vanished as vanished
from apps.checkpoints.records import Check, CheckpointInfo, Copy, NewCheckpoint
from apps.core.clock import now_ns
from apps.core.queue import Job, enqueue
from apps.core.records import CheckpointSeen

_MAX_PATH = 4_000

_OF_OTHER_LISTS = frozenset((Code.INVENTORY_MISMATCH.value, Code.NON_SHARED_STORAGE.value))

log = logging.getLogger(__name__)


def record(
    run_id: int, attempt: int, seen: Sequence[CheckpointSeen], *, source: str = "http"
) -> int:
    """Takes in announcements, in the caller's transaction; how many said something new.

    The same step with the same files changes nothing. With other files a committed checkpoint keeps
    those it has, the others are kept beside them and it gets the finding INVENTORY_MISMATCH; one
    that was not committed yet, or is gone, takes the new ones. Another place is a copy. A word
    without a list of files says nothing about them: it contradicts nothing, and the first list that
    comes is taken. A doubt about the step becomes the finding STEP_MISMATCH. Metadata content is
    kept and checked by the job checkpoints.verify after the commit.
    """
    return sum(_record(run_id, attempt, announcement, source) for announcement in seen)


def verify(run_id: int, attempt: int, step: int) -> CheckpointInfo | None:
    """Compares a checkpoint with its metadata content; its new state, None if it is unknown.

    Without the content nothing changes. The level never falls, and a mismatch of announcements
    stays, as does what was found in the storage. Repeating it is harmless. About 2 s per 8 MiB of
    metadata.
    """
    with transaction.atomic():
        known = store.lock(run_id, attempt, step)
        content = store.metadata(run_id, attempt, step)
        if known is None or content is None:
            return known
        found = verify_files(known.files, content)
        doubts = tuple(f for f in known.findings if f.code == Code.STEP_MISMATCH)
        kept = known.findings if known.look else (*doubts, *mismatches(run_id, known))
        at_ns = now_ns()
        check = moved(
            check_of(known),
            event_in(found.level, found.findings),
            at_ns,
            "its metadata was read",
        )
        check = replace(
            check,
            level=level_after(Level(known.level), found.level, whole=True),
            framework=found.framework,
            findings=unique(found.findings, kept),
            checked_at_ns=at_ns,
        )
        store.save_check(run_id, attempt, step, check)
        transaction.on_commit(lambda: tell(run_id), robust=True)
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


def _record(run_id: int, attempt: int, seen: CheckpointSeen, source: str) -> bool:
    files = {} if seen.files is None else seen.files
    new = NewCheckpoint(
        attempt=attempt,
        step=seen.step,
        path=printable(seen.path)[:_MAX_PATH],
        saved_at_ns=seen.saved_at_ns,
        save_s=seen.save_s,
        files=inventory.of_sizes(files),
        digest=inventory.UNKNOWN if seen.files is None else inventory.digest(files),
        source=source,
    )
    check = _first_check(seen, files, source)
    if store.add(run_id, new, check):
        _keep_metadata(run_id, attempt, seen)
        return True
    known = store.lock(run_id, attempt, new.step)
    if known is None:
        return False
    said = _said_again(run_id, known, new, check)
    doubted = not said and _doubt(run_id, known, seen)
    return _keep_metadata(run_id, attempt, seen) or said or doubted


def _first_check(seen: CheckpointSeen, files: Mapping[str, int], source: str) -> Check:
    others = (*_unchecked(seen), *_doubts(seen))
    return first_check(verify_files(files), others, seen.saved_at_ns, f"announced ({source})")


def _said_again(run_id: int, known: CheckpointInfo, new: NewCheckpoint, check: Check) -> bool:
    """What another word about a known checkpoint changes; False if nothing."""
    elsewhere = place(new.path) != place(known.path)
    if new.digest == inventory.UNKNOWN:
        return elsewhere and _another_place(run_id, known, new, check)
    if known.digest == inventory.UNKNOWN or (
        known.state not in PRESENT and new.digest != known.digest
    ):
        again = moved(
            check_of(known),
            event_in(check.level, check.findings),
            new.saved_at_ns,
            check.why,
        )
        state, since, why = again.state, again.state_at_ns, again.why
        store.replace_files(run_id, new, replace(check, state=state, state_at_ns=since, why=why))
        return True
    if elsewhere:
        return _another_place(run_id, known, new, check)
    return new.digest != known.digest and _contradict(run_id, known, new)


def _another_place(run_id: int, known: CheckpointInfo, new: NewCheckpoint, check: Check) -> bool:
    """Keeps a place that was only spoken of; False if it is known."""
    if copies_store.get(run_id, known.attempt, known.step, new.path):
        return False
    findings = unique(check.findings, differs(known, new.files))
    copy = Copy(
        attempt=known.attempt,
        step=known.step,
        uri=place(new.path),
        tier=tier_of(new.path),
        state=check.state,
        level=check.level,
        findings=findings,
        bytes=sum(stamp.size for stamp in new.files.values()) if new.digest else None,
        seen_at_ns=None,
    )
    copies_store.save(run_id, copy)
    return True


def _doubt(run_id: int, known: CheckpointInfo, seen: CheckpointSeen) -> bool:
    """Adds what a repeated announcement says against the step; False if it is known."""
    findings = unique(known.findings, _doubts(seen))
    if findings == known.findings:
        return False
    check = replace(check_of(known), findings=findings)
    store.save_check(run_id, known.attempt, known.step, check)
    return True


def _contradict(run_id: int, known: CheckpointInfo, new: NewCheckpoint) -> bool:
    """Keeps an announcement with other files beside the first; False if it is kept already."""
    if not store.add_resave(run_id, new):
        return False
    others = tuple(f for f in known.findings if f.code not in _OF_OTHER_LISTS)
    check = replace(check_of(known), findings=unique(others, mismatches(run_id, known)))
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
