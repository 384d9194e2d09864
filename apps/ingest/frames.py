"""Typed JSON, and the frame of our own agent: one line of JSON, then raw bytes. Plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from apps.core.errors import BadPayload

T = TypeVar("T")
Attempt = Annotated[int, Meta(ge=0, lt=2**31)]
Whole = Annotated[int, Meta(ge=0, le=2**62)]
Shift = Annotated[int, Meta(ge=-(2**62), le=2**62)]
NO_NUL = "^[^\\x00]*$"
Node = Annotated[str, Meta(min_length=1, max_length=253, pattern=NO_NUL)]
MAX_HEADER_BYTES = 4 << 20
MAX_VALUES = 2_000_000


def split(body: bytes, header_type: type[T]) -> tuple[T, memoryview]:
    """(header, rest). BadPayload says which field is wrong."""
    end = body.find(b"\n", 0, MAX_HEADER_BYTES)
    if end < 0:
        raise BadPayload(
            f"no header line within {MAX_HEADER_BYTES} bytes",
            where="body",
            hint="the first line is a JSON object, then raw bytes",
        )
    return decode(body[:end], header_type, inside="header"), memoryview(body)[end + 1 :]


def weigh(data: bytes) -> None:
    """BadPayload for JSON of more than MAX_VALUES values.

    Three bytes of text become sixty of objects. Commas and brackets are counted wherever they
    stand: never too few. Half a GB a second at worst; a short body cannot hold so many.
    """
    if (
        len(data) > MAX_VALUES
        and data.count(b",") + data.count(b"[") + data.count(b"{") > MAX_VALUES
    ):
        raise BadPayload(
            f"more than {MAX_VALUES} values", where="body", hint="send smaller batches"
        )


def decode(data: bytes, kind: type[T], *, inside: str = "") -> T:
    """JSON as `kind`; BadPayload with the path of the wrong field. inside: what `data` is part of.

    Fields that `kind` does not have are ignored: newer senders may say more.
    """
    weigh(data)
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        message, _, path = str(error).partition(" - at ")
        place = f"{inside}{path.replace('`', '').removeprefix('$')}".lstrip(".")
        raise BadPayload(message, where=place or "body") from error


def cut(rest: memoryview, lengths: Sequence[int], where: str) -> list[bytes]:
    """`rest` cut into pieces of the given lengths (none negative), which must fill it exactly."""
    if sum(lengths) != len(rest):
        raise BadPayload(
            f"add up to {sum(lengths)} bytes, the body holds {len(rest)}",
            where=where,
            hint="was the body cut?",
        )
    pieces, at = [], 0
    for length in lengths:
        pieces.append(bytes(rest[at : at + length]))
        at += length
    return pieces
