"""Requests that are told to come again: with which words, and counted so that pages show them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import redis

from apps.core import valkey
from apps.core.errors import AppError
from apps.ingest.envelope import Envelope
from apps.logs.store import disk

COUNTS: Final = "{ingest}:refused"
"""Hash: "<run id> <reason>" -> requests. Reasons are those of _WORDS."""
DISK: Final = "disk"
LOGS: Final = frozenset({"logs", "packed", "lines", "push"})
"""Endpoints that the budget of the log store closes."""
ASK_AGAIN_S: Final = 5.0

_WORDS: Final[Mapping[str, tuple[int, int, str, str]]] = {
    "rate": (429, 1, "too many bytes a second", "slow down and send it again"),
    "requests": (429, 1, "too many requests a second", "send larger batches, and this one again"),
    DISK: (
        429,
        60,
        "the log store is full (LOGS_DISK_BYTES)",
        "keep the batch and send it again; somebody has to keep fewer logs or raise the budget",
    ),
    "full": (
        503,
        10,
        "the stream is full: the writer is behind",
        "keep the batch and send it again",
    ),
}
"""Reason -> status, Retry-After in seconds, message, hint."""
_known: list[tuple[float, bool]] = [(0.0, False)]


class Refused(AppError):
    """The body was not taken; send it again after retry_after_s."""

    def __init__(self, message: str, *, status: int, retry_after_s: int, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retry_after_s = retry_after_s


def refuse(reason: str, envelopes: Sequence[Envelope]) -> Refused:
    """The error to raise; counted for each run."""
    with suppress(redis.RedisError):
        pipe = valkey.client().pipeline(transaction=False)
        for run_id in sorted({envelope.run_id for envelope in envelopes}):
            pipe.hincrby(COUNTS, f"{run_id} {reason}", 1)
        pipe.execute()
    status, wait_s, message, hint = _WORDS[reason]
    return Refused(message, status=status, retry_after_s=wait_s, hint=hint)


def counted() -> dict[int, dict[str, int]]:
    """run id -> reason -> requests refused so far; 0: of no run. Empty while Valkey is away."""
    found: dict[int, dict[str, int]] = defaultdict(dict)
    with suppress(redis.RedisError):
        kept: Any = valkey.client().hgetall(COUNTS)
        for name, count in kept.items():
            run, _, reason = name.decode().partition(" ")
            found[int(run)][reason] = int(count)
    return dict(found)


def words(reason: str) -> str:
    """A reason for people."""
    return _WORDS[reason][2] if reason in _WORDS else reason


def is_full(envelopes: Sequence[Envelope]) -> bool:
    """Whether one of these is log lines and the log store is full; asked for every ASK_AGAIN_S."""
    if not any(envelope.endpoint in LOGS for envelope in envelopes):
        return False
    until, full = _known[0]
    if time.monotonic() >= until:
        full = disk.is_full()
        _known[0] = (time.monotonic() + ASK_AGAIN_S, full)
    return full
