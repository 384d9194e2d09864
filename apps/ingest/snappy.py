"""Snappy blocks, which a bomb cannot abuse: they say how large they are. Plain Python."""

from __future__ import annotations

import cramjam

from apps.core.errors import BadPayload


def unsnap(body: bytes, most_bytes: int) -> bytes:
    """The content of one snappy block; BadPayload if it is too large or damaged.

    A block cannot hold more than 64 bytes for each three of its own, so its size says all.
    """
    try:
        size = cramjam.snappy.decompress_raw_len(body)
        if size > most_bytes:
            raise BadPayload(
                f"the body inflates beyond {most_bytes} bytes ({len(body)} compressed)",
                where="body",
                hint="send smaller batches",
            )
        return bytes(cramjam.snappy.decompress_raw(body)) if size <= 64 * len(body) else _cut()
    except cramjam.DecompressionError as error:
        raise BadPayload(f"not a snappy block: {error}", where="body") from error


def _cut() -> bytes:
    raise BadPayload("not a snappy block: it claims more than it can hold", where="body")
