"""The door: accept a body, and say how far what was accepted has come."""

from __future__ import annotations

from dataclasses import dataclass

import redis
from django.conf import settings

from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.ingest import store, stream
from apps.ingest.digest import digest
from apps.ingest.envelope import Envelope, pack


class Refused(AppError):
    """The body was not taken; send it again after retry_after_s."""

    def __init__(self, message: str, *, status: int, retry_after_s: int, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class IngestStatus:
    """How far the data of a run has come. pending: entries of the whole stream.

    waits: an analysis has an appointment. analysis_errors: (attempt, reason), tried again soon.
    """

    pending: int
    pending_bytes: int
    oldest_age_s: float | None
    behind: int
    waits: bool
    quarantined: int
    counters: dict[str, int]
    analysis_errors: list[tuple[int, str]]


def accept(envelope: Envelope, *, sender: str) -> None:
    """Takes the envelope; returns once it is durable. sender: whose rate counts (a token's id).

    With INGEST_ACK=commit it is written at once, BadPayload raised, and the next round of a writer
    or the periodic job analyses it: a sender never waits for that. Otherwise raises Refused when
    the sender is too fast (429), the stream full or Valkey away (503).
    """
    if settings.INGEST_ACK == "commit":
        digest([envelope], quarantine=False)
        return
    try:
        answer = stream.append(
            pack(envelope),
            sender=sender,
            now_s=envelope.received_ns // 1_000_000_000,
            rate_limit=settings.INGEST_RATE_BYTES_S,
            max_bytes=settings.INGEST_STREAM_MAX_BYTES,
        )
    except redis.RedisError as error:
        raise Refused(
            "the stream does not answer", status=503, retry_after_s=2, hint="send it again"
        ) from error
    if answer is stream.Appended.RATE:
        raise Refused("too fast", status=429, retry_after_s=1, hint="slow down and send it again")
    if answer is stream.Appended.FULL:
        raise Refused(
            "the stream is full: the writer is behind",
            status=503,
            retry_after_s=10,
            hint="keep the batch and send it again",
        )


def status(run_id: int) -> IngestStatus:
    """Backlog of the stream and what of this run is written, analysed, quarantined."""
    waiting = stream.backlog()
    age = (now_ns() - waiting.oldest_ns) / 1e9 if waiting.oldest_ns else None
    return IngestStatus(
        pending=waiting.entries,
        pending_bytes=waiting.bytes,
        oldest_age_s=age,
        behind=store.analysis_behind(run_id),
        waits=store.analysis_waits(run_id),
        quarantined=store.quarantine_count(run_id),
        counters=store.counters(run_id),
        analysis_errors=store.analysis_errors(run_id),
    )
