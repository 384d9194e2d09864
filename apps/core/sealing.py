"""Secrets for the database, encrypted with a key that is not in it."""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from apps.core.errors import AppError


class Unreadable(AppError):
    """The secret was sealed with another SECRET_KEY."""


def seal(plain: bytes, purpose: bytes) -> str:
    """Text for the database: AES-128-CBC with HMAC-SHA256 (Fernet) under a key derived from
    SECRET_KEY and the purpose. A stolen dump alone gives nothing away."""
    return _box(purpose).encrypt(plain).decode("ascii")


def unseal(sealed: str, purpose: bytes, *, what: str, hint: str) -> bytes:
    """The secret again; Unreadable if SECRET_KEY has changed since. what, hint: for people."""
    try:
        return _box(purpose).decrypt(sealed.encode("ascii"))
    except InvalidToken:
        raise Unreadable(f"{what} cannot be decrypted: SECRET_KEY has changed", hint=hint) from None


def _box(purpose: bytes) -> Fernet:
    key = HKDF(SHA256(), 32, salt=None, info=purpose).derive(settings.SECRET_KEY.encode())
    return Fernet(base64.urlsafe_b64encode(key))
