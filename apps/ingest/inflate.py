"""Decompression that a zip bomb cannot abuse. Plain Python."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import zstandard

from apps.core.errors import BadPayload

_FREE_BYTES = 1 << 20
"""Below this size any ratio is fine: small logs repeat themselves."""
_BITE_BYTES = 1 << 10
"""Compressed bytes inflated at once: at worst 32 MiB come out (zstd), 1 MiB (gzip)."""


@dataclass(frozen=True, slots=True)
class InflateLimits:
    """max_bytes: of the inflated body. max_ratio: inflated / compressed, checked above 1 MiB."""

    max_bytes: int
    max_ratio: int


def inflate(body: bytes, encoding: str, limits: InflateLimits) -> bytes:
    """The decompressed body, all members of it.

    Inflates little more than allowed. Raises BadPayload when the body is too large, packed too
    well to be honest, cut or damaged.
    """
    allowed = min(limits.max_bytes, max(_FREE_BYTES, len(body) * limits.max_ratio))
    try:
        data = _inflated(body, _WORKERS[encoding], allowed) if encoding in _WORKERS else body
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise BadPayload(f"not a {encoding} body: {error}", where="body") from error
    if len(data) > allowed:
        raise BadPayload(
            f"the body inflates beyond {allowed} bytes ({len(body)} compressed)",
            where="body",
            hint="send smaller batches",
        )
    return data


class _Worker(Protocol):
    """Of zlib and of zstandard alike: inflates one member, bite by bite."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


_WORKERS: dict[str, Callable[[], _Worker]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "deflate": lambda: zlib.decompressobj(),
    "zstd": lambda: zstandard.ZstdDecompressor().decompressobj(),
}


def _inflated(body: bytes, start: Callable[[], _Worker], allowed: int) -> bytes:
    """Inflated members back to back; stops with the first bite that goes beyond `allowed`.

    Both libraries stop in silence at the end of the first member, and zstandard's stream reader
    takes a cut body for a whole one; so they are fed by hand.
    """
    pieces, size, at = list[bytes](), 0, 0
    while True:
        worker = start()
        while not worker.eof:
            if at == len(body):
                raise EOFError("the body ends early")
            bite = body[at : at + _BITE_BYTES]
            at += len(bite)
            pieces.append(worker.decompress(bite))
            size += len(pieces[-1])
            if size > allowed:
                return b"".join(pieces)
        at -= len(worker.unused_data)
        if at == len(body):
            return b"".join(pieces)
