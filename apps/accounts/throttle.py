"""How often a password may be tried: sliding windows in Valkey, by name and address and by address.

A password is tried only after this has counted the try, so that tries at the same moment count too.
Without Valkey the tries are let through, and said so in the log: people sign in during outages, and
each try still costs the guesser half a second of hashing on one of few threads.
"""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import redis

from apps.core import valkey

# KEYS: windows. ARGV: now, window, name of this try, then the bound of each key. Times in ms.
_TRY = """
local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
for i, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
  if redis.call('ZCARD', key) >= tonumber(ARGV[3 + i]) then
    local wait = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) + window - now
    local first = redis.call('SET', key .. ':said', 1, 'NX', 'PX', math.max(wait, 1))
    return {wait, first and 1 or 0}
  end
end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, now, ARGV[3])
  redis.call('PEXPIRE', key, window)
end
return {0, 0}
"""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ThrottlePolicy:
    """Tries within window_s: of one name from one address, of all names from one address, and round
    trips to the provider from one address."""

    window_s: int = 900
    of_name: int = 10
    of_address: int = 100
    trips: int = 300


@dataclass(frozen=True, slots=True)
class Try:
    """wait_s: 0 if the password may be looked at. first: the first that must wait, of a window."""

    wait_s: int = 0
    first: bool = False


def take(name: str, address: str, now_ns: int, policy: ThrottlePolicy | None = None) -> Try:
    """Counts a try, or says how long to wait; then it does not count.

    The answer depends on what was typed only, never on whether there is such a person.
    """
    policy = policy or ThrottlePolicy()
    bounds = (policy.of_name, policy.of_address)
    return _counted(_keys(name, address), bounds, now_ns, policy.window_s)


def take_trip(address: str, now_ns: int, policy: ThrottlePolicy | None = None) -> Try:
    """The same for a round trip to the provider. Counted apart: passwords are the way in while the
    provider is away."""
    policy = policy or ThrottlePolicy()
    keys = [f"{{login}}:trip:{place(address)}"]
    return _counted(keys, (policy.trips,), now_ns, policy.window_s)


def _counted(keys: list[str], bounds: Sequence[int], now_ns: int, window_s: int) -> Try:
    times: list[str | int] = [now_ns // 1_000_000, window_s * 1_000]
    args = [*times, secrets.token_hex(8), *bounds]
    try:
        script = valkey.client().register_script(_TRY)
        wait_ms, first = script(keys=keys, args=args)
    except redis.RedisError:
        log.warning("login.not_throttled", extra={"reason": "valkey is away"})
        return Try()
    return Try(-(-int(wait_ms) // 1_000), bool(first))


def forget(name: str, address: str) -> None:
    """The right password: earlier mistakes with this name from this address count no more."""
    try:
        valkey.client().delete(_keys(name, address)[0])
    except redis.RedisError:
        log.warning("login.not_throttled", extra={"reason": "valkey is away"})


def place(address: str) -> str:
    """What one household or machine room shares: an IPv4 address, the /64 of an IPv6 one."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if known.version == 6:
        mapped = known.ipv4_mapped
        return str(mapped or ipaddress.ip_network((known, 64), strict=False))
    return str(known)


def _keys(name: str, address: str) -> list[str]:
    """Hashed: a password typed as the name must not lie in Valkey."""
    same = unicodedata.normalize("NFKC", name).casefold()
    where = place(address)
    pair = hashlib.sha256(f"{where}\0{same}".encode("utf-8", "replace")).hexdigest()
    return [f"{{login}}:name:{pair}", f"{{login}}:address:{where}"]
