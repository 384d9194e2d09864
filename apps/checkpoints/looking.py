"""One checkpoint looked at now, because somebody is about to restore it.

The look is made by the storage worker, which alone reaches the mounts; whoever asks waits for its
answer in Valkey, and does without after a few seconds.
"""

from __future__ import annotations

import posixpath
import secrets
import threading
from dataclasses import dataclass
from enum import StrEnum

import msgspec
import redis
from django.conf import settings

from apps.checkpoints import observing, roots_store, store
from apps.checkpoints.domain.places import place
from apps.checkpoints.records import CheckpointInfo
from apps.checkpoints.root_records import Look as RootLook
from apps.checkpoints.root_records import RootInfo
from apps.checkpoints.roots import place_of
from apps.checkpoints.scanning import observation, target_of, with_content
from apps.checkpoints.storage.listing import Bounds
from apps.checkpoints.storage.process import Limits, answers
from apps.checkpoints.storage.protocol import Failed, RoomSeen, ScanAsk, StepSeen
from apps.core import valkey
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.core.queue import Job, enqueue
from apps.runs import store as runs

WAIT_S = 10
LOOK_S = 30.0
_KEPT_S = 60
_slots = threading.BoundedSemaphore(2)
"""Looks a process waits for at once: each costs one of its threads, and pages need them too."""
_BESIDE = ("deepspeed", "megatron", "nemo")
"""Layouts whose marker lies beside the folder of the step: the folder above is looked at."""


class Sight(StrEnum):
    """What a look says. unknown: nobody could look, so it says nothing."""

    WHOLE = "whole"
    DAMAGED = "damaged"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Seen:
    """The answer of a look. words: for people, without an end of sentence. asked: the storage
    worker was asked; False where there is no root to ask for."""

    sight: Sight
    words: str
    asked: bool = True


def look_now(run_id: int, known: CheckpointInfo, *, wait_s: int = WAIT_S) -> Seen:
    """Has the storage worker look at a checkpoint and waits for it, `wait_s` seconds at most.

    Not inside a transaction: the request for it would not be sent. What was seen is registered.
    """
    root = root_of(run_id, known)
    if root is None:
        text = "it lies under no storage root, so nobody could look at it now"
        return Seen(Sight.UNKNOWN, text, asked=False)
    if not _slots.acquire(blocking=False):
        text = "others wait for looks at this moment, so nobody looked at it now: try again"
        return Seen(Sight.UNKNOWN, text)
    try:
        return _asked(run_id, known, wait_s)
    finally:
        _slots.release()


def _asked(run_id: int, known: CheckpointInfo, wait_s: int) -> Seen:
    token = secrets.token_urlsafe(16)
    enqueue(Job.CHECKPOINTS_LOOK, run_id, known.attempt, known.step, token)
    try:
        answer = valkey.client().blpop([_key(token)], timeout=wait_s)
    except redis.RedisError:
        answer = None
    if answer is None:
        text = f"the storage worker did not answer within {wait_s} s, so nobody looked at it now"
        return Seen(Sight.UNKNOWN, text)
    return msgspec.json.decode(answer[1], type=Seen)


def answer(run_id: int, attempt: int, step: int, token: str) -> None:
    """The worker's side: looks, and leaves the answer for whoever waits."""
    known = store.get(run_id, attempt, step)
    if known is None:
        return
    seen = look(run_id, known)
    client = valkey.client()
    client.rpush(_key(token), msgspec.json.encode(seen))
    client.expire(_key(token), _KEPT_S)


def look(run_id: int, known: CheckpointInfo) -> Seen:
    """Looks at one checkpoint in a bounded child, here and now, and registers what is there.

    A folder that is not there is not registered as lost: the mount may be away, and the next look
    at the whole root can tell. Costs a listing of the folder and O(headers).
    """
    root = root_of(run_id, known)
    if root is None:
        return Seen(Sight.UNKNOWN, "it lies under no storage root any more")
    try:
        return _looked(run_id, known, root)
    except AppError as error:
        return Seen(Sight.UNKNOWN, f"the look failed: {error}")


def root_of(run_id: int, known: CheckpointInfo) -> RootInfo | None:
    """The storage root that is looked at for this run and holds the checkpoint; the longest."""
    own = place(known.path)
    holding = [
        root
        for root in roots_store.of_run(run_id, runs.run_by_id(run_id).project)
        if root.rule.enabled and f"{own}/".startswith(f"{place(root.rule.uri).rstrip('/')}/")
    ]
    return max(holding, key=lambda root: len(root.rule.uri), default=None)


def _looked(run_id: int, known: CheckpointInfo, root: RootInfo) -> Seen:
    folder = place(known.path)
    beside = known.framework.startswith(_BESIDE) and folder != place(root.rule.uri)
    at = posixpath.dirname(folder) if beside else folder
    wanted = posixpath.basename(folder) if beside else ""
    ask = ScanAsk(
        target=target_of(place_of(at), settings.CHECKPOINT_SCAN_BYTES_S),
        bounds=Bounds(seconds=LOOK_S),
        known=_others(root, at, wanted),
    )
    about = RootLook(now_ns())
    limits = Limits(LOOK_S, settings.CHECKPOINT_SCAN_MEMORY_BYTES)
    for said in answers(ask, limits):
        if isinstance(said, Failed):
            sight = Sight.MISSING if said.gone else Sight.UNKNOWN
            return Seen(sight, f"{said.reason} ({at}, as the storage worker sees it)")
        if isinstance(said, RoomSeen):
            about.kind = said.kind.value
        if isinstance(said, StepSeen) and said.path == wanted:
            return _registered(run_id, known, said, about)
    return Seen(Sight.MISSING, f"no checkpoint is in {folder}, as the storage worker sees it")


def _others(root: RootInfo, at: str, wanted: str) -> dict[str, str]:
    """Fingerprints of the other steps of the folder, so that their headers are not read again."""
    top = place(root.rule.uri).rstrip("/")
    known = roots_store.seen(root.id)
    paths = {f"{top}/{path}": one.fingerprint for path, one in known.items()}
    below = f"{at.rstrip('/')}/"
    named = {path.removeprefix(below): p for path, p in paths.items() if path.startswith(below)}
    return {name: print_ for name, print_ in named.items() if wanted and name != wanted}


def _registered(run_id: int, known: CheckpointInfo, seen: StepSeen, about: RootLook) -> Seen:
    observed = observation(seen, known.step, place(known.path), about)
    observing.observe(run_id, with_content(run_id, observed))
    now = store.get(run_id, known.attempt, known.step) or known
    if not now.complete:
        found = "; ".join(f.message for f in now.fatal) or "no commit marker is there"
        return Seen(Sight.DAMAGED, found)
    level = now.level.replace("_", " ")
    text = f"looked at just now: {level}, {len(seen.files)} files as they were committed"
    return Seen(Sight.WHOLE, text)


def _key(token: str) -> str:
    return f"lastgood:look:{token}"
