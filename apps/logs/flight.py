"""Use cases of flight recorder dumps: taken as they come, judged soon after, shown."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from django.db import transaction

from apps.core.errors import BadPayload
from apps.core.plain import packed
from apps.core.queue import Job, enqueue
from apps.logs.domain.triage.flight import FlightVerdict, judge
from apps.logs.domain.triage.flight_dump import Dump, read_dump
from apps.logs.domain.triage.report import confidence_word
from apps.logs.store import flight as store

MAX_DUMPS = 65_536
MAX_GROUPS = 65_536
"""Of an attempt."""
_parsing = threading.Lock()
"""A dump takes up to thirty times its size while it is read: one at a time in a process."""


@dataclass(frozen=True, slots=True)
class FlightAnswer:
    """What the dumps of an attempt say. waits: dumps came that are not judged yet.

    verdict: None before the first. agrees: whether `ranks` are what the log verdict names; None if
    one of the two names nobody.
    """

    verdict: FlightVerdict | None
    waits: bool
    confidence_word: str
    agrees: bool | None


def take(run_id: int, attempt: int, bodies: Mapping[int, bytes], now_ns: int) -> int:
    """Keeps the dumps of some ranks; returns once they are durable: how many are new or changed.

    Idempotent: a dump that is there already changes nothing. Raises BadPayload, and keeps none,
    if one of them cannot be read or the attempt has MAX_DUMPS or MAX_GROUPS.
    """
    keys = {r: hashlib.sha256(r.to_bytes(4) + body).digest() for r, body in bodies.items()}
    there = store.digests(run_id, attempt, bodies)
    with _parsing:
        read = {
            key: read_dump(bodies[rank], rank)
            for rank, key in keys.items()
            if there.get(rank) != key
        }
    if not read:
        return 0
    with transaction.atomic():
        before = store.open_record(run_id, attempt, now_ns)
        known = store.digests(run_id, attempt, bodies)
        new = {key: one for key, one in read.items() if known.get(one.rank) != key}
        if not new:
            return 0
        added = len({one.rank for one in new.values()} - known.keys())
        _check_room(run_id, attempt, before + added, new)
        store.save_dumps(run_id, attempt, new)
        store.mark_dirty(run_id, attempt, added=added, now_ns=now_ns)
    enqueue(Job.LOGS_DUMPS)
    return len(new)


def _check_room(run_id: int, attempt: int, dumps: int, new: Mapping[bytes, Dump]) -> None:
    groups = {one.group.key for dump in new.values() for one in dump.pending}
    if dumps > MAX_DUMPS or store.count_groups(run_id, attempt) + len(groups) > 2 * MAX_GROUPS:
        raise BadPayload(
            f"attempt {attempt} has dumps of {MAX_DUMPS:,} ranks or as many groups already",
            where="rank",
            hint="more are not taken; check the number of the rank",
        )


def judge_due(budget_s: float) -> list[tuple[int, int]]:
    """Judges attempts whose dumps changed, for budget_s at most: (run, attempt) of each."""
    until_s = time.monotonic() + budget_s
    judged = []
    while time.monotonic() < until_s and (found := _judge_one()):
        judged.append(found)
    return judged


@transaction.atomic
def _judge_one() -> tuple[int, int] | None:
    found = store.take_dirty()
    if found is not None:
        store.save_verdict(*found, packed(judge(store.dumps_of(*found))))
    return found


def answer(run_id: int, attempt: int, log_rank: int | None) -> FlightAnswer | None:
    """What the dumps say, beside the rank that the log verdict names; None without dumps."""
    found = store.record(run_id, attempt)
    if found is None:
        return None
    kept, waits = found
    if kept is None:
        return FlightAnswer(None, waits, "none", None)
    verdict = msgspec.convert(kept, FlightVerdict)
    agrees = log_rank in verdict.ranks if verdict.ranks and log_rank is not None else None
    return FlightAnswer(verdict, waits, confidence_word(verdict.confidence), agrees)
