"""A chunk that is opened as far as it is asked for: its texts first, then its other columns."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from apps.logs.domain.chunk.chunks import ChunkLines, decode_chunk, open_texts
from apps.logs.domain.chunk.chunktexts import PlainTexts, ShapedTexts, Texts
from apps.logs.domain.chunk.packedshapes import PackedShapes


class OpenChunk:
    """The bytes of a chunk and what was made of them so far.

    Its attributes raise BadChunk for bytes that are no chunk, each time they are asked for.
    """

    def __init__(self, body: bytes) -> None:
        self.body = body

    @cached_property
    def texts(self) -> Texts:
        """The texts alone, which cost as much to open as all other columns."""
        return open_texts(self.body)

    @cached_property
    def columns(self) -> ChunkLines:
        """The whole chunk."""
        return decode_chunk(self.body, self.texts)

    @property
    def held_bytes(self) -> int:
        """Memory of what was opened so far, in bytes and arrays."""
        return _held_bytes(self)


def _held_bytes(value: Any) -> int:
    """Lists of small objects, which few questions make, count nothing."""
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, np.ndarray):
        return value.nbytes
    # A list first: another thread may open more meanwhile.
    inner = list(vars(value).values()) if isinstance(value, _OPENED) else []
    return sum(map(_held_bytes, inner))


_OPENED = (OpenChunk, ChunkLines, PlainTexts, ShapedTexts, PackedShapes)
