"""Addresses and secrets of channels, encrypted with a key that is not in the database."""

from __future__ import annotations

import base64

import orjson
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from apps.alerts.domain.access import Access
from apps.core.errors import AppError

_PURPOSE = b"lastgood: secrets of alert channels"


class Unreadable(AppError):
    """The secret was sealed with another SECRET_KEY."""


def seal(access: Access) -> str:
    """The access to a channel as text for the database: AES-128-CBC with HMAC-SHA256 (Fernet)
    under a key derived from SECRET_KEY. A stolen dump alone gives nothing away."""
    plain = orjson.dumps({"url": access.url, "secret": access.secret})
    return _box().encrypt(plain).decode("ascii")


def unseal(sealed: str) -> Access:
    """The access again; Unreadable if SECRET_KEY has changed since."""
    try:
        said = orjson.loads(_box().decrypt(sealed.encode("ascii")))
    except InvalidToken:
        raise Unreadable(
            "the address of this channel cannot be decrypted: SECRET_KEY has changed",
            hint="enter its address and secret again",
        ) from None
    return Access(said["url"], said["secret"])


def _box() -> Fernet:
    key = HKDF(SHA256(), 32, salt=None, info=_PURPOSE).derive(settings.SECRET_KEY.encode())
    return Fernet(base64.urlsafe_b64encode(key))
