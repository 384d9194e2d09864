"""The door: accept a body, say how far it has come, give one that failed another try."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
import redis
from django.conf import settings
from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.ingest import refusals, store, stream
from apps.ingest.digest import Digested, digest
from apps.ingest.envelope import Envelope, pack, unpack
from apps.ingest.expiry import drop_expired
from apps.ingest.poison import UNREAD
from apps.ingest.refusals import Refused as Refused
from apps.runs import store as runs

KEEP_BATCHES = timedelta(days=7)
"""How long a batch counts once. Longer than any outage an agent's spool is expected to bridge."""


@dataclass(frozen=True, slots=True)
class IngestStatus:
    """How far the data of a run has come. pending: entries of the whole stream, None if Valkey does
    not answer.

    refused: reason -> requests that were told to come again. waits: an analysis has an
    appointment. analysis_errors: (attempt, reason), tried again soon.
    """

    pending: int | None
    pending_bytes: int | None
    oldest_age_s: float | None
    behind: int
    waits: bool
    quarantined: int
    counters: dict[str, int]
    refused: dict[str, int]
    analysis_errors: list[tuple[int, str]]


def accept(envelope: Envelope, *, sender: Actor, keep_bad: bool = False) -> None:
    """Takes the envelope, as `accept_all` does."""
    accept_all([envelope], sender=sender, keep_bad=keep_bad)


def accept_all(envelopes: Sequence[Envelope], *, sender: Actor, keep_bad: bool = False) -> None:
    """Takes the envelopes, all of them or none; returns once they are durable. sender: whose rate
    counts.

    With INGEST_ACK=commit it is written at once, BadPayload raised, and the next round of a writer
    or the periodic job analyses it: a sender never waits for that. keep_bad: a bad body goes to
    quarantine in place of the error, for clients that give up on one. Otherwise raises Refused when
    the sender is too fast or the log store full (429), the stream full or Valkey away (503); those
    are counted.
    """
    if not envelopes:
        return
    if refusals.is_full(envelopes):
        raise refusals.refuse(refusals.DISK, envelopes)
    if settings.INGEST_ACK == "commit":
        digest(envelopes, quarantine=keep_bad)
        return
    try:
        answer = stream.append(
            [pack(envelope) for envelope in envelopes],
            sender=str(sender.token_id),
            now_s=envelopes[0].received_ns // 1_000_000_000,
            limits=_limits(sender),
        )
    except redis.RedisError as error:
        raise refusals.Refused(
            "the stream does not answer", status=503, retry_after_s=2, hint="send it again"
        ) from error
    if answer is not stream.Appended.OK:
        raise refusals.refuse(answer.value, envelopes)


def _limits(sender: Actor) -> stream.AppendLimits:
    return stream.AppendLimits(
        sender.bytes_s or settings.INGEST_RATE_BYTES_S,
        sender.requests_s or settings.INGEST_RATE_REQUESTS_S,
        settings.INGEST_STREAM_MAX_BYTES,
    )


def status(run_id: int) -> IngestStatus:
    """Backlog of the stream and what of this run is written, analysed, quarantined."""
    return statuses([run_id])[run_id]


def statuses(run_ids: Sequence[int]) -> dict[int, IngestStatus]:
    """The same for several runs, in a fixed number of statements."""
    waiting = backlog()
    age = (now_ns() - waiting.oldest_ns) / 1e9 if waiting and waiting.oldest_ns else None
    analyses = store.analyses_of(run_ids)
    quarantined, counters = store.quarantine_counts(run_ids), store.counters_of(run_ids)
    refused = refusals.counted()
    return {
        run_id: IngestStatus(
            pending=waiting.entries if waiting else None,
            pending_bytes=waiting.bytes if waiting else None,
            oldest_age_s=age,
            behind=analyses[run_id].behind,
            waits=analyses[run_id].waits,
            quarantined=quarantined.get(run_id, 0),
            counters=counters.get(run_id, {}),
            refused=refused.get(run_id, {}),
            analysis_errors=analyses[run_id].errors,
        )
        for run_id in run_ids
    }


def backlog() -> stream.Backlog | None:
    """What waits in the stream; None if Valkey does not answer."""
    try:
        return stream.backlog()
    except redis.RedisError:
        return None


def requeue(quarantine_id: int, *, actor: Actor, reason: str = "") -> Digested:
    """Writes a quarantined body after all; what became of it. For after a fix of Lastgood.

    Needs the scope operate. One transaction: the rows, the end of the quarantine, the audit line.
    Raises AppError if there is no such entry or it still cannot be written; then it stays.
    """
    require(actor, "operate")
    with transaction.atomic():
        kept = store.take_quarantined(quarantine_id)
        if kept is None:
            hint = "the page Ingest health lists what there is"
            raise AppError("there is no such entry", where=f"quarantine {quarantine_id}", hint=hint)
        done = digest([_as_sent(kept)], quarantine=False)
        store.drop_quarantined(kept.run_id, quarantine_id)
        store.count(kept.run_id, {"requeued": 1})
        audit(
            actor,
            "quarantine.requeued",
            f"quarantine {quarantine_id}",
            run_id=kept.run_id,
            before={"batch": kept.batch_id, "endpoint": kept.endpoint},
            after={"written": done.written, "duplicates": done.duplicates},
            reason=reason,
        )
    return done


def _as_sent(kept: Envelope) -> Envelope:
    if kept.endpoint == UNREAD:
        return unpack(kept.body)
    return msgspec.structs.replace(kept, run_key=runs.keys([kept.run_id]).get(kept.run_id, ""))


def drop_old_quarantine(now: datetime) -> int:
    """Drops bodies that lay in quarantine for KEEP_QUARANTINE_DAYS, a few at a time; how many.

    Each run counts its own as `quarantine_expired`.
    """
    days = settings.KEEP_QUARANTINE_DAYS
    return drop_expired(store.forget_quarantined, now, days=days, counter="quarantine_expired")


def forget_batches(now: datetime) -> int:
    """Drops dedupe keys older than KEEP_BATCHES, a short statement at a time; how many."""
    total = 0
    while forgotten := store.forget_batches(now - KEEP_BATCHES):
        total += forgotten
    return total
