"""The frame of our own agent: one line of JSON, then raw bytes. Plain Python."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from apps.core.errors import BadPayload

T = TypeVar("T")
MAX_HEADER_BYTES = 4 << 20


def split(body: bytes, header_type: type[T]) -> tuple[T, memoryview]:
    """(header, rest). BadPayload says which field is wrong."""
    end = body.find(b"\n", 0, MAX_HEADER_BYTES)
    if end < 0:
        raise BadPayload(
            "no header line", where="body", hint="the first line is a JSON object, then raw bytes"
        )
    return decode(body[:end], header_type), memoryview(body)[end + 1 :]


def decode(data: bytes, kind: type[T]) -> T:
    """JSON as `kind`; BadPayload with the path of the wrong field."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadPayload(str(error), where="header") from error


def cut(rest: memoryview, lengths: list[int], where: str) -> list[bytes]:
    """`rest` cut into pieces of the given lengths, which must fill it exactly."""
    if any(length < 0 for length in lengths) or sum(lengths) != len(rest):
        raise BadPayload(
            f"{where} promise {sum(lengths)} bytes, the body holds {len(rest)}",
            where=where,
            hint="was the body cut?",
        )
    pieces, at = [], 0
    for length in lengths:
        pieces.append(bytes(rest[at : at + length]))
        at += length
    return pieces
