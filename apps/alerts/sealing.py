"""Addresses and secrets of channels, encrypted."""

from __future__ import annotations

import orjson

from apps.alerts.domain.access import Access
from apps.core import sealing
from apps.core.sealing import Unreadable

__all__ = ["Unreadable", "seal", "unseal"]

_PURPOSE = b"lastgood: secrets of alert channels"


def seal(access: Access) -> str:
    """The access to a channel as text for the database."""
    return sealing.seal(orjson.dumps({"url": access.url, "secret": access.secret}), _PURPOSE)


def unseal(sealed: str) -> Access:
    """The access again; Unreadable if SECRET_KEY has changed since."""
    plain = sealing.unseal(
        sealed,
        _PURPOSE,
        what="the address of this channel",
        hint="enter its address and secret again",
    )
    said = orjson.loads(plain)
    return Access(said["url"], said["secret"])
