"""One look at a storage root: what the child says is registered as it comes."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace

from django.conf import settings

from apps.checkpoints import copies_store, hashes_store, observing, roots_store
from apps.checkpoints.domain.codes import Level
from apps.checkpoints.domain.inventory import digest, of_listing, sizes
from apps.checkpoints.domain.places import Tier, key_of, place
from apps.checkpoints.records import Copy, Observation
from apps.checkpoints.records import Look as StorageLook
from apps.checkpoints.root_records import Beside, Look, Outcome, RootInfo
from apps.checkpoints.roots import place_of
from apps.checkpoints.roots_store import Seen
from apps.checkpoints.storage.listing import MAX_NAMED, Bounds
from apps.checkpoints.storage.mounts import Kind
from apps.checkpoints.storage.places import Place
from apps.checkpoints.storage.process import ChildFailed, Limits, answers
from apps.checkpoints.storage.protocol import (
    Answer,
    BesideSeen,
    Failed,
    GoneSeen,
    ListingSeen,
    PartSeen,
    RoomSeen,
    SameSeen,
    ScanAsk,
    StepSeen,
    Target,
)
from apps.checkpoints.storage.s3 import S3Access
from apps.core.clock import now_ns
from apps.core.errors import AppError, Refused
from apps.core.queue import Job, enqueue
from apps.runs import store as runs

_NS = 10**9
_LISTING_SHARE = 0.8
"""Of the time of a look: the rest is for the headers of the newest steps."""
_HINT = "see that it is mounted where the storage worker of Lastgood runs, and may be read there"
_BUCKET_HINT = "see CHECKPOINT_BUCKET_URL, and that its key may list and read there"
ANNOUNCED_NS = 900 * 1_000_000_000
"""What was announced so long before a look should be found by it: clocks differ, saves end late."""
MAX_BESIDE = 50
_TIERS = {Kind.LOCAL: Tier.LOCAL, Kind.MEMORY: Tier.LOCAL, Kind.BUCKET: Tier.BUCKET}

log = logging.getLogger(__name__)


def scan_due() -> int:
    """Enqueues a look for every root that is due; how many. For the periodic job."""
    due = roots_store.due(now_ns())
    for root_id in due:
        enqueue(Job.CHECKPOINTS_SCAN, root_id)
    return len(due)


def scan(root_id: int) -> Look | None:
    """Looks at a root; what was found, None if it is not due or somebody else looks at it.

    Every checkpoint is registered by a transaction of its own as soon as it was looked at, so that
    a look that is killed loses only the rest. What a whole listing no longer has is gone. Steps
    that look as they did are not read again. Costs a listing, and O(headers) of what changed.
    """
    begun = now_ns()
    lease_ns = (settings.CHECKPOINT_SCAN_S + 60) * _NS
    if not roots_store.claim(root_id, begun, begun + lease_ns):
        return None
    root = roots_store.get(root_id)
    if root is None:
        return None
    look = Look(begun)
    started = time.monotonic()
    try:
        _Scan(root, look, roots_store.seen(root_id)).run()
    except AppError as error:
        look.outcome, look.message = Outcome.FAILED, str(error)
    finally:
        look.took_s = round(time.monotonic() - started, 3)
        roots_store.finish(root_id, look, now_ns() + root.rule.every_s * _NS)
    log.info("checkpoints.scanned", extra={"root": root_id, "outcome": look.outcome.value})
    return look


def target_of(where: Place, bytes_s: int) -> Target:
    """A folder with the way to reach it."""
    access = S3Access(
        settings.CHECKPOINT_BUCKET_URL,
        settings.CHECKPOINT_BUCKET_REGION,
        settings.CHECKPOINT_BUCKET_KEY_ID,
        settings.CHECKPOINT_BUCKET_SECRET,
    )
    within = tuple(one.path for one in settings.CHECKPOINT_ROOTS if not one.bucket)
    return Target(where.bucket, where.path, access, bytes_s, within)


@dataclass(slots=True)
class _Scan:
    """One look while it goes on."""

    root: RootInfo
    look: Look
    known: dict[str, Seen]
    present: set[tuple[int, str]] = field(default_factory=set)
    run_ids: dict[str, int | None] = field(default_factory=dict)

    def run(self) -> None:
        """Takes in all that the child says; raises AppError where nothing could be looked at."""
        limits = Limits(settings.CHECKPOINT_SCAN_S, settings.CHECKPOINT_SCAN_MEMORY_BYTES)
        try:
            with closing(answers(self._ask(), limits)) as said:
                for answer in said:
                    self._take(answer)
        except ChildFailed as error:
            if not self.look.files:
                raise
            self.look.outcome, self.look.message = Outcome.PARTIAL, error.message
        if self.look.outcome is Outcome.WHOLE:
            self._note_gone()

    def _ask(self) -> ScanAsk:
        rule = self.root.rule
        return ScanAsk(
            target=target_of(place_of(rule.uri), settings.CHECKPOINT_SCAN_BYTES_S),
            bounds=Bounds(seconds=settings.CHECKPOINT_SCAN_S * _LISTING_SHARE),
            pattern=rule.pattern,
            known={path: one.fingerprint for path, one in self.known.items()},
        )

    def _take(self, answer: Answer) -> None:
        if isinstance(answer, StepSeen):
            self._step(answer)
        elif isinstance(answer, SameSeen):
            self._same(answer)
        elif isinstance(answer, GoneSeen):
            self._here(answer.run, answer.path)
            self.look.vanished += 1
        elif isinstance(answer, PartSeen):
            self._here(answer.run, answer.path)
            self.look.part = (*self.look.part, answer.path)[:MAX_NAMED]
        elif isinstance(answer, ListingSeen):
            _note_listing(self.look, answer)
        elif isinstance(answer, RoomSeen):
            _note_room(self.look, answer)
        elif isinstance(answer, BesideSeen):
            self._beside(answer)
        elif isinstance(answer, Failed):
            raise Refused(answer.reason, hint=_BUCKET_HINT if self.look.kind == "bucket" else _HINT)

    def _here(self, word: str, path: str) -> int | None:
        """Counts a step as there; the run it belongs to, None if that is unknown."""
        self.look.steps += 1
        run_id = self._run_of(word)
        if run_id is not None:
            self.present.add((run_id, key_of(self._uri(path))))
        return run_id

    def _same(self, seen: SameSeen) -> None:
        self._here(seen.run, seen.path)
        self.look.same += 1
        known = self.known[seen.path]
        self.look.broken += known.broken
        if not known.numbered:
            self._unnumbered(seen.path)

    def _unnumbered(self, path: str) -> None:
        self.look.unnumbered = (*self.look.unnumbered, path)[:MAX_NAMED]

    def _uri(self, path: str) -> str:
        return place(f"{self.root.rule.uri.rstrip('/')}/{path}" if path else self.root.rule.uri)

    def _run_of(self, word: str) -> int | None:
        """The run of a part of the root. A folder of no run is named once."""
        if self.root.rule.run_id is not None:
            return self.root.rule.run_id
        if word not in self.run_ids:
            found = runs.get_run(word)
            mine = found is not None and found.project == self.root.rule.project
            self.run_ids[word] = found.id if found is not None and mine else None
            if not mine and len(self.look.unknown) < MAX_NAMED:
                self.look.unknown = (*self.look.unknown, word)
        return self.run_ids[word]

    def _step(self, seen: StepSeen) -> None:
        run_id = self._here(seen.run, seen.path)
        self.look.bytes_read += seen.bytes_read
        if run_id is None:
            return
        uri, broken = self._uri(seen.path), any(one.fatal for one in seen.findings)
        try:
            if seen.step is None:
                self._unnumbered(seen.path)
            else:
                observed = observation(seen, seen.step, uri, self.look)
                info = observing.observe(run_id, with_content(run_id, observed))
                broken = broken or bool(info and info.fatal)
        except AppError as error:
            self.look.refused += 1
            where = {"root": self.root.id, "path": seen.path, "reason": str(error)}
            log.warning("checkpoints.scan_refused", extra=where)
            return
        self.look.broken += broken
        numbered = seen.step is not None
        found = Seen(run_id, key_of(uri), seen.fingerprint, broken, numbered)
        roots_store.keep(self.root.id, seen.path, found)

    def _beside(self, seen: BesideSeen) -> None:
        run_id = self._run_of(seen.run)
        if run_id is None or len(self.look.beside) >= MAX_BESIDE:
            return
        one = seen.finding
        self.look.beside.append(Beside(seen.folder, one.code, one.message, one.fatal, run_id))

    def _note_gone(self) -> None:
        """Every checkpoint that was seen here before and is not here now is gone."""
        doubt = absence_doubt(self.look, self.root.last)
        missing = [
            (run_id, copy) for run_id, copy in self._registered() if not self._sees(run_id, copy)
        ]
        if missing and doubt:
            self.look.outcome, self.look.message = Outcome.PARTIAL, doubt
            return
        for run_id, copy in missing:
            at = (copy.attempt, copy.step)
            observing.vanished(run_id, at, copy.uri, at_ns=self.look.at_ns)
            self.look.lost += 1
        gone = (
            one for one in self.known.values() if (one.run_id, one.place_key) not in self.present
        )
        roots_store.forget(self.root.id, list(gone))

    def _registered(self) -> Iterator[tuple[int, Copy]]:
        """Places below the root that were looked at, or announced well, before this look began."""
        own = self.root.rule.run_id
        for run_id in {one.run_id for one in self.known.values()} | ({own} if own else set()):
            for copy in copies_store.under(run_id, self.root.rule.uri):
                if copy.seen_at_ns is not None and copy.seen_at_ns < self.look.at_ns:
                    yield run_id, copy
            before_ns = self.look.at_ns - ANNOUNCED_NS
            uri = self.root.rule.uri
            for copy in copies_store.announced_under(run_id, uri, before_ns=before_ns):
                yield run_id, copy

    def _sees(self, run_id: int, copy: Copy) -> bool:
        return (run_id, key_of(copy.uri)) in self.present


def absence_doubt(look: Look, before: Look | None) -> str:
    """Why what is missing now may not be gone, "" if it is: an empty folder on another mount than
    before is a mount that is not there."""
    if look.files or before is None:
        return ""
    if (look.mount_type, look.mount_source) == (before.mount_type, before.mount_source):
        return ""
    was = f"{before.mount_type} {before.mount_source}".strip() or "unknown"
    now = f"{look.mount_type} {look.mount_source}".strip() or "unknown"
    return f"it is empty and lies on another mount than before ({was}, now {now}): is it mounted?"


def observation(seen: StepSeen, step: int, uri: str, look: Look) -> Observation:
    """What the child said of a step, ready to be registered."""
    return Observation(
        step=step,
        uri=uri,
        saved_at_ns=seen.saved_at_ns,
        framework=seen.layout,
        level=Level(seen.level),
        inventory=of_listing(seen.files),
        look=StorageLook(look.at_ns, seen.bytes_read, seen.bytes_total, seen.unchecked),
        findings=seen.findings,
        tier=_TIERS.get(Kind(look.kind)),
    )


def with_content(run_id: int, seen: Observation) -> Observation:
    """With what a full hash found here: headers that are whole do not take that back."""
    found = hashes_store.standing(run_id, seen.uri, digest(sizes(seen.inventory)))
    return replace(seen, findings=(*seen.findings, *found)) if found else seen


def _note_listing(look: Look, seen: ListingSeen) -> None:
    look.files, look.bytes = seen.files, seen.bytes
    look.outside, look.unread = seen.outside, seen.unread
    look.vanished, look.other, look.unmatched = seen.vanished, seen.other, seen.unmatched
    if seen.cut or seen.unread:
        look.outcome = Outcome.PARTIAL
        look.message = seen.cut or f"{len(seen.unread)} names could not be looked at"


def _note_room(look: Look, seen: RoomSeen) -> None:
    look.kind = seen.kind.value
    look.mount_type, look.mount_source = seen.mount_type, seen.mount_source
    look.total_bytes, look.free_bytes = seen.total_bytes, seen.free_bytes
