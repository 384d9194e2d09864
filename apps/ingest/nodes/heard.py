"""Who tells of nodes, and when they did last: counted in Valkey, shown on Ingest health."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import redis

from apps.core import valkey

LAST: Final = "{ingest}:nodes:last"
COUNTS: Final = "{ingest}:nodes:counts"
MAX_SENDERS = 2_000
"""Fields of LAST beyond which no new sender is noted."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One sender at one door. told: events and looks of all its bodies. left_out: why -> how many
    became none."""

    door: str
    sender: str
    last_ns: int
    bodies: int
    told: int
    left_out: Mapping[str, int]


def note(door: str, sender: str, at_ns: int, told: int, left_out: Mapping[str, int]) -> None:
    """Counts a body. Nothing while Valkey is away: what was in it matters more."""
    name = msgspec.json.encode([door, sender]).decode()
    with suppress(redis.RedisError):
        client = valkey.client()
        known: Any = client.hlen(LAST)
        if known >= MAX_SENDERS and not client.hexists(LAST, name):
            return
        pipe = client.pipeline(transaction=False)
        pipe.hset(LAST, name, str(at_ns))
        counts = {"bodies": 1, "told": told, **{f"left {why}": n for why, n in left_out.items()}}
        for what, count in counts.items():
            if count:
                pipe.hincrby(COUNTS, msgspec.json.encode([door, sender, what]).decode(), count)
        pipe.execute()


def heard() -> list[Heard]:
    """All senders, those that were heard last first; empty while Valkey is away."""
    try:
        last: Any = valkey.client().hgetall(LAST)
        kept: Any = valkey.client().hgetall(COUNTS)
    except redis.RedisError:
        return []
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for name, count in kept.items():
        door, sender, what = msgspec.json.decode(name)
        counts.setdefault((door, sender), {})[what] = int(count)
    found = [
        _heard(door, sender, int(at_ns), counts.get((door, sender), {}))
        for (door, sender), at_ns in ((msgspec.json.decode(n), at) for n, at in last.items())
    ]
    return sorted(found, key=lambda one: (-one.last_ns, one.door, one.sender))


def _heard(door: str, sender: str, last_ns: int, counts: Mapping[str, int]) -> Heard:
    left = {why.removeprefix("left "): n for why, n in counts.items() if why.startswith("left ")}
    return Heard(door, sender, last_ns, counts.get("bodies", 0), counts.get("told", 0), left)
