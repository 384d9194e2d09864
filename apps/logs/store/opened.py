"""Chunks that were read lately, kept open: who scrolls, follows or refines a search asks for the
same ones again. Kept by each process for itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

from apps.logs.domain.chunk.openchunk import OpenChunk

KEPT_BYTES = 64 << 20


class Opened:
    """The chunks that were asked for last, up to `most_bytes` together. For several threads."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._chunks: OrderedDict[Hashable, tuple[OpenChunk, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, key: Hashable) -> OpenChunk | None:
        """The chunk that was kept under this key; None if it is not there (any more)."""
        with self._lock:
            return self._chunks[key][0] if key in self._chunks else None

    def keep(self, key: Hashable, chunk: OpenChunk) -> None:
        """Keeps a chunk with what was opened of it, and lets go of those that nobody used longest.
        Call it after each use: the chunk is weighed then."""
        weight = chunk.held_bytes
        with self._lock:
            _, before = self._chunks.pop(key, (chunk, 0))
            self._chunks[key] = (chunk, weight)
            self._bytes += weight - before
            while self._bytes > self._most_bytes:
                _, (_, lighter) = self._chunks.popitem(last=False)
                self._bytes -= lighter

    def clear(self) -> None:
        """Lets go of all."""
        with self._lock:
            self._chunks.clear()
            self._bytes = 0


OPENED = Opened()
