"""Decompression that a zip bomb cannot abuse. Plain Python."""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass

import zstandard

from apps.core.errors import BadPayload

_FREE_BYTES = 1 << 20
"""Below this size any ratio is fine: small logs repeat themselves."""


@dataclass(frozen=True, slots=True)
class InflateLimits:
    """max_bytes: of the inflated body. max_ratio: inflated / compressed, checked above 1 MiB."""

    max_bytes: int
    max_ratio: int


def inflate(body: bytes, encoding: str, limits: InflateLimits) -> bytes:
    """The decompressed body.

    Reads at most one byte more than allowed. Raises BadPayload when the body is too large, packed
    too well to be honest, cut or damaged.
    """
    allowed = min(limits.max_bytes, max(_FREE_BYTES, len(body) * limits.max_ratio))
    try:
        if encoding == "identity":
            data = body
        elif encoding == "gzip":
            data = _gunzip(body, allowed)
        else:
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(body)) as reader:
                data = reader.read(allowed + 1)
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise BadPayload(f"not a {encoding} body: {error}", where="body") from error
    if len(data) > allowed:
        raise BadPayload(
            f"the body inflates beyond {allowed} bytes ({len(body)} compressed)",
            where="body",
            hint="send smaller batches",
        )
    return data


def _gunzip(body: bytes, allowed: int) -> bytes:
    worker = zlib.decompressobj(wbits=31)
    data = worker.decompress(body, allowed + 1)
    if len(data) <= allowed and not worker.eof:
        raise EOFError("the body ends early")
    return data
