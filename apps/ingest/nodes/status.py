"""How the listener fares with each source: kept in Valkey, so that it goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import msgspec
import redis

from apps.core import valkey

STATES: Final = "{ingest}:nodes:sources"
VERSIONS: Final = "{ingest}:nodes:versions"
QUIET_S: Final = 60.0


class Status(msgspec.Struct, frozen=True):
    """One source. heard_ns: when it answered last, 0: never. silent_after_s: without an answer.

    targets, failing: addresses (of a cluster: watches), and how many of them did not answer last.
    error: the first reason. told: new events and changed looks; of a cluster since the listener
    started. left_out: what became none, of the last turn or since the listener started.
    """

    name: str
    kind: str
    tried_ns: int
    heard_ns: int = 0
    silent_after_s: float = QUIET_S
    targets: int = 1
    failing: int = 0
    error: str = ""
    told: int = 0
    left_out: dict[str, int] = {}

    def silent(self, now_ns: int) -> bool:
        """Whether nothing was heard for longer than there may be."""
        return now_ns - self.heard_ns > self.silent_after_s * 1e9


def save(status: Status) -> None:
    """Keeps the newest word on a source; nothing while Valkey is away."""
    with suppress(redis.RedisError):
        valkey.client().hset(STATES, status.name, msgspec.json.encode(status))


def statuses() -> list[Status]:
    """Every source of the listener, by name; empty while Valkey is away."""
    try:
        kept: Any = valkey.client().hgetall(STATES)
    except redis.RedisError:
        return []
    return sorted(
        (msgspec.json.decode(one, type=Status) for one in kept.values()), key=lambda s: s.name
    )


def forget_all_but(names: Iterable[str]) -> None:
    """Drops sources that are no longer in the file."""
    kept = set(names)
    with suppress(redis.RedisError):
        for one in statuses():
            if one.name not in kept:
                valkey.client().hdel(STATES, one.name)


def version(name: str, resource: str) -> str:
    """How far a watch has come, "" if nobody knows."""
    with suppress(redis.RedisError):
        found: Any = valkey.client().hget(VERSIONS, f"{resource} {name}")
        return found.decode() if found else ""
    return ""


def save_version(name: str, resource: str, said: str) -> None:
    """Keeps how far a watch has come, after what it said is durable. "" forgets it."""
    with suppress(redis.RedisError):
        if said:
            valkey.client().hset(VERSIONS, f"{resource} {name}", said)
        else:
            valkey.client().hdel(VERSIONS, f"{resource} {name}")
