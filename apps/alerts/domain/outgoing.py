"""Requests to other people's servers: where they may go, and what an answer means."""

from __future__ import annotations

import email.utils
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

LONGEST_WAIT_S: Final = 3600.0
_TEXT_CHARS: Final = 300
_LATER: Final = frozenset({408, 423, 425, 429})
_METADATA: Final = frozenset(
    ipaddress.ip_address(text)
    for text in ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16")
)
"""Where clouds hand out credentials: AWS, Google, Oracle; AWS by IPv6; Alibaba; Azure."""
_SHARED: Final = ipaddress.ip_network("100.64.0.0/10")
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


class Reach(IntEnum):
    """How near an address is. A policy allows everything up to one of them."""

    PUBLIC = 0
    PRIVATE = 1
    LOOPBACK = 2
    NEVER = 3  # link-local, cloud metadata, multicast, unspecified


class Verdict(StrEnum):
    """taken: it has arrived. later: send the same again. never: it will not be accepted."""

    TAKEN = "taken"
    LATER = "later"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Call:
    """A POST. secrets: what must not appear in an error, whoever repeats it."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """status: 0 if there was none. text: why it was not taken. wait_s: what Retry-After asks."""

    verdict: Verdict
    status: int = 0
    text: str = ""
    wait_s: float | None = None


def reach(address: IPAddress) -> Reach:
    """How near an address is, also where IPv4 is wrapped in IPv6 (mapped, 6to4, NAT64)."""
    inner = _unwrapped(address)
    if inner != address:
        return reach(inner)
    special = address.is_link_local or address.is_multicast or address.is_unspecified
    if address in _METADATA or special or (address.version == 4 and address.is_reserved):
        return Reach.NEVER
    if address.is_loopback:
        return Reach.LOOPBACK
    old_site = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    if address.is_private or old_site or (address.version == 4 and address in _SHARED):
        return Reach.PRIVATE
    return Reach.PUBLIC


def _unwrapped(address: IPAddress) -> IPAddress:
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


def judge(status: int, retry_after: str | None, text: str, now_s: float) -> Answer:
    """What an answer means. 2xx: taken. 5xx, 408, 423, 425, 429: later. Everything else: never; a
    redirect too, because whoever answers must not choose where secrets go."""
    if 200 <= status < 300:
        return Answer(Verdict.TAKEN, status)
    said = " ".join(text.split())[:_TEXT_CHARS]
    words = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    if status >= 500 or status in _LATER:
        return Answer(Verdict.LATER, status, words, _wait_s(retry_after, now_s))
    if 300 <= status < 400:
        words = f"HTTP {status}: redirects are not followed; enter the final address"
    return Answer(Verdict.NEVER, status, words)


def _wait_s(retry_after: str | None, now_s: float) -> float | None:
    """Retry-After, a number or a date, in seconds; at most an hour, None for nonsense."""
    if not retry_after:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), LONGEST_WAIT_S)
    try:
        moment = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, moment - now_s), LONGEST_WAIT_S)


def without(text: str, secrets: tuple[str, ...]) -> str:
    """A text in which none of the secrets is left: an answer may repeat what it was sent."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "…")
    return text
