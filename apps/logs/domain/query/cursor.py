"""Keyset cursor of a log page: the key of the last line it gave out."""

from __future__ import annotations

import base64
import binascii

import msgspec

from apps.core.errors import AppError

MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1

LineKey = tuple[int, int, int, str]
"""(time_ns, rank or -1, seq, file)"""


class BadCursor(AppError):
    """A cursor that this server did not make."""


def pack_cursor(key: LineKey) -> str:
    """The key as URL-safe text."""
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def unpack_cursor(text: str) -> LineKey:
    """The key of a cursor. Raises BadCursor."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        key = msgspec.json.decode(raw, type=LineKey)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise BadCursor(
            "the log cursor cannot be read", where="cursor", hint="use next_cursor as it was given"
        ) from error
    if not all(MIN_INT64 <= number <= MAX_INT64 for number in key[:3]):
        raise BadCursor(
            "the log cursor is out of range", where="cursor", hint="use next_cursor as it was given"
        )
    return key
