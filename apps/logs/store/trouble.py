"""What the bucket last refused, for the pages: a note in Valkey, gone when it works again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import msgspec
import redis

from apps.core import valkey
from apps.core.clock import now_ns
from apps.logs.store.bucket import BucketAway

KEY = "{logs}:bucket"
KEEP_S = 900


@dataclass(frozen=True, slots=True)
class Trouble:
    """Since when the bucket fails, and what it said last."""

    since_ns: int
    reason: str


@contextmanager
def noted() -> Iterator[None]:
    """Notes a BucketAway, and its end. Valkey may be away: a note is no reason to fail."""
    try:
        yield
    except BucketAway as error:
        with suppress(redis.RedisError):
            before = current()
            since = before.since_ns if before else now_ns()
            note = msgspec.json.encode(Trouble(since, str(error)))
            valkey.client().set(KEY, note, ex=KEEP_S)
        raise
    with suppress(redis.RedisError):
        valkey.client().delete(KEY)


def current() -> Trouble | None:
    """The trouble there is now; None if the bucket works or nobody used it for a while."""
    kept = valkey.client().get(KEY)
    return msgspec.json.decode(kept, type=Trouble) if isinstance(kept, bytes) else None
