"""The stream between the door and the writer, in Valkey. Appended to, read, acknowledged.

An answered batch is in the append-only file (`appendfsync always`); it leaves the stream only
after its Postgres transaction has committed. Nothing is ever trimmed: a full stream refuses.
Scripts run whole or not at all, so that no kill in between skews the count of bytes; entries
deleted by hand do, until the stream is empty once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import redis

from apps.core import valkey

STREAM = "{ingest}:stream"
BYTES = "{ingest}:bytes"
RATE = "{ingest}:rate:"
REQUESTS = "{ingest}:requests:"
GROUP = "writers"

# One round trip, one fsync: rate, bound and append together. KEYS: stream, bytes, windows of bytes
# and of requests. ARGV: size, their limits, stream bound, entries. Only what was let in counts.
_APPEND = """
local size = tonumber(ARGV[1])
local sent = tonumber(redis.call('GET', KEYS[3]) or '0')
if sent > 0 and sent + size > tonumber(ARGV[2]) then return 'rate' end
if tonumber(redis.call('GET', KEYS[4]) or '0') >= tonumber(ARGV[3]) then return 'requests' end
if redis.call('XLEN', KEYS[1]) == 0 then redis.call('DEL', KEYS[2]) end
local held = tonumber(redis.call('GET', KEYS[2]) or '0')
if held > 0 and held + size > tonumber(ARGV[4]) then return 'full' end
redis.call('INCRBY', KEYS[3], size)
redis.call('EXPIRE', KEYS[3], 3)
redis.call('INCR', KEYS[4])
redis.call('EXPIRE', KEYS[4], 3)
redis.call('INCRBY', KEYS[2], size)
for i = 5, #ARGV do redis.call('XADD', KEYS[1], '*', 'e', ARGV[i]) end
return 'ok'
"""
# Acknowledge, delete and uncount. An entry that another writer finished is not uncounted again.
_DONE = """
for i = 1, #ARGV, 2 do
  if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then
    redis.call('DECRBY', KEYS[2], ARGV[i + 1])
  end
  redis.call('XACK', KEYS[1], 'writers', ARGV[i])
end
if redis.call('XLEN', KEYS[1]) == 0 then redis.call('DEL', KEYS[2]) end
return 'ok'
"""


class Appended(StrEnum):
    """How an append ended."""

    OK = "ok"
    RATE = "rate"
    REQUESTS = "requests"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the stream. deliveries: how often it was handed out, this time included."""

    id: str
    data: bytes
    deliveries: int = 1


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits. oldest_ns: arrival of the oldest entry, None when nothing waits."""

    entries: int
    bytes: int
    oldest_ns: int | None


@dataclass(frozen=True, slots=True)
class AppendLimits:
    """bytes_s, requests_s: of one sender in one second. stream_bytes: of what waits."""

    bytes_s: int
    requests_s: int
    stream_bytes: int


def append(data: Sequence[bytes], *, sender: str, now_s: int, limits: AppendLimits) -> Appended:
    """Adds entries of one request, all or none: unless the sender is too fast in this second or the
    stream is full.

    They are always let into an empty window or an empty stream.
    """
    window = f"{sender}:{now_s}"
    keys = [STREAM, BYTES, f"{RATE}{window}", f"{REQUESTS}{window}"]
    script = valkey.client().register_script(_APPEND)
    bounds = (limits.bytes_s, limits.requests_s, limits.stream_bytes)
    answer = script(keys=keys, args=[sum(map(len, data)), *bounds, *data])
    return Appended(_text(answer))


def make_group() -> None:
    """Creates the consumer group; fine if it exists."""
    try:
        valkey.client().xgroup_create(STREAM, GROUP, id="0", mkstream=True)
    except redis.ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _entries(found: Any, deliveries: Mapping[str, int]) -> list[Entry]:
    entries = []
    for raw_id, fields in found:
        entry_id = _text(raw_id)
        entries.append(Entry(entry_id, fields.get(b"e", b""), deliveries.get(entry_id, 1)))
    return entries


def pending(consumer: str, count: int) -> dict[str, int]:
    """id -> deliveries so far, of entries handed to this consumer and not acknowledged."""
    rows = valkey.client().xpending_range(STREAM, GROUP, "-", "+", count, consumername=consumer)
    return {_text(row["message_id"]): int(row["times_delivered"]) for row in rows}


def take(consumer: str, deliveries: Mapping[str, int]) -> list[Entry]:
    """Hands pending entries out once more. One that was deleted meanwhile is acknowledged."""
    client = valkey.client()
    claimed: Any = client.xclaim(STREAM, GROUP, consumer, 0, list(deliveries))
    entries = _entries(claimed, {entry: times + 1 for entry, times in deliveries.items()})
    gone = set(deliveries) - {entry.id for entry in entries}
    if gone:
        client.xack(STREAM, GROUP, *gone)
    return entries


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """count: entries read at once. most_bytes: of them, bounds memory. largest_bytes: of an entry.

    most_bytes is not less than largest_bytes.
    """

    count: int
    most_bytes: int
    largest_bytes: int

    def at_once(self, held_bytes: int, have_bytes: int = 0) -> int:
        """How many entries may be fetched blindly when the stream holds held_bytes."""
        if held_bytes <= self.most_bytes:
            return self.count
        return min(self.count, (self.most_bytes - have_bytes) // self.largest_bytes)


def held_bytes() -> int:
    """Bytes of all entries, read or not."""
    return int(_text(valkey.client().get(BYTES) or 0))


def read_new(consumer: str, limits: ReadLimits, block_ms: int) -> list[Entry]:
    """New entries; waits up to block_ms for the first.

    Nobody says how large the next entries are. When the stream holds more than fits into memory,
    only so many are fetched at a time as fit even if each is as large as an entry may be.
    """
    entries: list[Entry] = []
    held, have, wait_ms = held_bytes(), 0, block_ms
    while (room := min(limits.count - len(entries), limits.at_once(held, have))) > 0:
        found = _read(consumer, room, wait_ms)
        entries += found
        have += sum(len(entry.data) for entry in found)
        if len(found) < room:
            break
        wait_ms = 0
    return entries


def _read(consumer: str, count: int, block_ms: int) -> list[Entry]:
    found: Any = valkey.client().xreadgroup(GROUP, consumer, {STREAM: ">"}, count, block_ms or None)
    return _entries(found[0][1], {}) if found else []


def claim_abandoned(consumer: str, count: int, idle_ms: int) -> int:
    """Takes over entries of consumers that went silent; how many are now `pending` here."""
    client = valkey.client()
    return len(client.xautoclaim(STREAM, GROUP, consumer, idle_ms, "0-0", count, justid=True))


def done(entries: Sequence[Entry]) -> None:
    """The entries are written: acknowledge and forget them."""
    args = [part for entry in entries for part in (entry.id, len(entry.data))]
    if args:
        valkey.client().register_script(_DONE)(keys=[STREAM, BYTES], args=args)


def backlog() -> Backlog:
    """What waits to be written."""
    client = valkey.client()
    first: Any = client.xrange(STREAM, count=1)
    oldest = int(_text(first[0][0]).split("-")[0]) * 1_000_000 if first else None
    return Backlog(client.xlen(STREAM), int(client.get(BYTES) or 0), oldest)
