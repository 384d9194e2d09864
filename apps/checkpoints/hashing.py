"""The full hash: every byte of a checkpoint is read once, in the background, at a bounded rate."""

from __future__ import annotations

import logging
import posixpath
from contextlib import closing
from dataclasses import dataclass, field

from django.conf import settings
from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.checkpoints import hashes_store as store
from apps.checkpoints import observing
from apps.checkpoints import store as checkpoints
from apps.checkpoints.checks import tell
from apps.checkpoints.domain import inventory
from apps.checkpoints.domain.codes import Code, Level
from apps.checkpoints.domain.hashing import Hashed, Verdict, judge
from apps.checkpoints.domain.lifecycle import GONE
from apps.checkpoints.domain.places import place
from apps.checkpoints.hashes_store import Reading
from apps.checkpoints.records import CheckpointInfo, Look, Observation
from apps.checkpoints.roots import place_of
from apps.checkpoints.scanning import target_of
from apps.checkpoints.storage.process import ChildFailed, Limits, answers
from apps.checkpoints.storage.protocol import (
    Answer,
    Failed,
    FileHashed,
    FileLost,
    HashAsk,
    Progress,
    SumsSeen,
)
from apps.core.clock import now_ns
from apps.core.errors import AppError, NotFound, Refused
from apps.core.queue import Job, enqueue
from apps.core.words import many

_NS = 10**9
LONGEST_S = 7 * 86_400.0
SILENT_S = 180.0
"""A reader that is silent for so long has died, or its mount hangs."""
NOTE_EVERY_S = 2.0
KEEP_EVERY_S = 10.0

log = logging.getLogger(__name__)


class _Cancelled(Exception):
    """Somebody took it back meanwhile."""


def ask(run_id: int, attempt: int, step: int, actor: Actor, now: int) -> Reading:
    """Wants every byte of a checkpoint read where it is restored from. Needs the scope operate.

    NotFound without such a checkpoint; Refused if it is gone, if nobody listed its files, if it is
    waiting or being read already, or lies where Lastgood may not look. One that failed or was
    cancelled goes on behind the last file that was read.
    """
    require(actor, "operate")
    info = _known(run_id, attempt, step)
    where = place(info.path)
    with transaction.atomic():
        before = store.get(run_id, attempt, step, where)
        if before is not None and before.open:
            raise Refused("it is being read already", hint="cancel that first")
        reading = Reading(
            run_id, attempt, step, where, "waiting", actor.name[:200], now, None, None, 0, 0,
            info.bytes, "", (), "",
        )  # fmt: skip
        store.ask(reading, info.digest)
        audit(actor, "checkpoint.hash_asked", _called(reading), run_id=run_id)
        enqueue(Job.CHECKPOINTS_HASH, run_id, attempt, step, where)
    return reading


def cancel(run_id: int, attempt: int, step: int, actor: Actor, now: int) -> None:
    """Stops a reading within seconds; what was read is kept. Refused if none is open."""
    require(actor, "operate")
    info = checkpoints.get(run_id, attempt, step)
    if info is None:
        raise NotFound("there is no such checkpoint")
    with transaction.atomic():
        reading = store.get(run_id, attempt, step, place(info.path))
        text = f"cancelled by {actor.name}"
        if reading is None or not store.end(reading, "cancelled", text, now):
            raise Refused("it is not being read", hint="nothing is to be cancelled")
        audit(actor, "checkpoint.hash_cancelled", _called(reading), run_id=run_id)
        transaction.on_commit(lambda: tell(run_id), robust=True)


def hash_due() -> int:
    """Enqueues readings that wait or whose reader died; how many. For the periodic job."""
    due = store.waiting(now_ns() - int(SILENT_S * _NS))
    for run_id, attempt, step, uri in due:
        enqueue(Job.CHECKPOINTS_HASH, run_id, attempt, step, uri)
    return len(due)


def read_content(run_id: int, attempt: int, step: int, uri: str) -> Reading | None:
    """Reads every byte in one place; the reading at its end. None if it is not to be read now: it
    is taken, not wanted any more, or another one is read.

    Costs size / CHECKPOINT_HASH_BYTES_S. One that dies goes on behind the last file it read.
    """
    now = now_ns()
    with transaction.atomic():
        taken = store.claim(run_id, attempt, step, uri, now, now - int(SILENT_S * _NS))
    reading = store.get(run_id, attempt, step, uri) if taken else None
    if reading is None:
        return None
    tell(run_id)
    try:
        info = _known(run_id, attempt, step)
        _Read(reading, info, *store.read_before(run_id, attempt, step, uri)).run()
    except _Cancelled:
        log.info("checkpoints.hash_cancelled", extra={"run": run_id, "step": step})
    except AppError as error:
        store.end(reading, "failed", str(error), now_ns())
    tell(run_id)
    return store.get(run_id, attempt, step, uri)


@dataclass(slots=True)
class _Read:
    """One reading while it goes on. done: what is read; before: what it is compared with."""

    reading: Reading
    info: CheckpointInfo
    done: dict[str, Hashed]
    before: dict[str, Hashed]
    written_down: dict[str, str] = field(default_factory=dict)
    lost: list[FileLost] = field(default_factory=list)
    base: int = 0
    noted_ns: int = 0
    kept_ns: int = 0

    def run(self) -> None:
        """Reads what is left, judges all of it. Raises AppError, _Cancelled."""
        sizes = self.info.files
        self.done = {n: one for n, one in self.done.items() if sizes.get(n) == one.bytes}
        self.base = sum(one.bytes for one in self.done.values())
        self._note(self.base, keep=True)
        limits = Limits(LONGEST_S, settings.CHECKPOINT_SCAN_MEMORY_BYTES, SILENT_S)
        with closing(answers(self._ask(sizes), limits)) as said:
            for answer in said:
                self._take(answer)
        self._note(sum(one.bytes for one in self.done.values()), keep=True)
        if self.lost:
            raise ChildFailed(_lost_words(self.lost))
        verdict = judge(sizes, self.done, self.before, self.written_down)
        text = verdict.unproved or "every byte agrees with a checksum or an earlier reading"
        message = "; ".join(one.message for one in verdict.findings) or text
        found = (verdict.digest, verdict.findings)
        if store.end(self.reading, "done", message, now_ns(), found):
            observing.observe(self.reading.run_id, _observation(self.reading, self.info, verdict))

    def _ask(self, sizes: dict[str, int]) -> HashAsk:
        uri = self.reading.uri
        alone = list(sizes) == [posixpath.basename(uri)]
        where = place_of(posixpath.dirname(uri) if alone else uri)
        pending = {name: size for name, size in sizes.items() if name not in self.done}
        return HashAsk(target_of(where, settings.CHECKPOINT_HASH_BYTES_S), pending)

    def _take(self, answer: Answer) -> None:
        if isinstance(answer, Progress):
            self._note(self.base + answer.bytes)
        elif isinstance(answer, FileHashed):
            said = Hashed(answer.bytes, answer.sha256, answer.summed, answer.bad_parts)
            self.done[answer.name] = said
        elif isinstance(answer, Failed):
            raise ChildFailed(answer.reason)
        elif isinstance(answer, FileLost):
            self.lost.append(answer)
        elif isinstance(answer, SumsSeen):
            self.written_down = answer.files

    def _note(self, done: int, *, keep: bool = False) -> None:
        now = now_ns()
        if not keep and now - self.noted_ns < NOTE_EVERY_S * _NS:
            return
        keep = keep or now - self.kept_ns > KEEP_EVERY_S * _NS
        if not store.note(self.reading, done, self.done if keep else None, now):
            raise _Cancelled
        self.noted_ns = now
        self.kept_ns = now if keep else self.kept_ns
        tell(self.reading.run_id)


def _observation(reading: Reading, info: CheckpointInfo, verdict: Verdict) -> Observation:
    """The checkpoint as its headers showed it, and what its bytes add."""
    headers = tuple(one for one in info.findings if one.code not in _OF_CONTENT)
    findings = (*headers, *verdict.findings)
    fatal = any(one.fatal for one in findings)
    level = Level.HASH_VERIFIED if verdict.verified and not fatal else _at_most_headers(info.level)
    return Observation(
        step=info.step,
        uri=reading.uri,
        saved_at_ns=info.saved_at_ns,
        framework=info.framework,
        level=level,
        inventory=info.inventory,
        look=Look(
            seen_at_ns=now_ns(),
            bytes_read=info.bytes,
            bytes_total=info.bytes,
            unchecked=(verdict.unproved,) if verdict.unproved else (),
            content_digest=verdict.digest,
        ),
        findings=findings,
        attempt=info.attempt,
    )


_OF_CONTENT = frozenset((Code.HASH_MISMATCH.value, Code.INVENTORY_MISMATCH.value))
"""Said anew by every reading."""


def _at_most_headers(level: str) -> Level:
    return min(Level(level), Level.HEADERS_VERIFIED, key=list(Level).index)


def _lost_words(lost: list[FileLost]) -> str:
    first = lost[0]
    return f"{many(len(lost), 'file')} could not be read to the end: {first.name}: {first.reason}"


def check_readable(info: CheckpointInfo) -> None:
    """Raises Refused, with the reason, where a checkpoint cannot be read."""
    if info.state in GONE:
        raise Refused(f"this checkpoint is {info.state.value}", hint="only what is there is read")
    if info.digest == inventory.UNKNOWN:
        raise Refused("nobody has listed its files", hint="add a storage root that holds it")
    place_of(info.path)


def _known(run_id: int, attempt: int, step: int) -> CheckpointInfo:
    info = checkpoints.get(run_id, attempt, step)
    if info is None:
        raise NotFound("there is no such checkpoint")
    check_readable(info)
    return info


def _called(reading: Reading) -> str:
    return f"checkpoint {reading.attempt}/{reading.step} in {reading.uri}"
