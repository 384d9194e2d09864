"""Rows of chunks: added with their bodies, by COPY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.sql import copy_in
from apps.logs.domain.chunks import ChunkHeader
from apps.logs.models import Chunk
from apps.logs.store import payloads
from apps.logs.store.payloads import Place

MERGED_LINES = 16_000
"""A chunk of so many lines is not merged with others."""

_COLUMNS = {
    "run_id": "int8",
    "attempt": "int4",
    "node": "varchar",
    "batch_id": "varchar",
    "first_ns": "int8",
    "first_rank": "int4",
    "first_seq": "int8",
    "last_ns": "int8",
    "last_rank": "int4",
    "last_seq": "int8",
    "lines": "int4",
    "copies": "int4",
    "debug": "int4",
    "info": "int4",
    "warning": "int4",
    "error": "int4",
    "critical": "int4",
    "ranks": "int4[]",
    "text_bytes": "int8",
    "body": "bytea",
    "size_bytes": "int4",
    "bundle_id": "int8",
    "body_at": "int8",
    "merged": "bool",
}


@dataclass(frozen=True, slots=True)
class ChunkOwner:
    """Whose lines a chunk holds, and the batch that brought them ("" for merged ones)."""

    run_id: int
    attempt: int
    node: str
    batch_id: str


@dataclass(frozen=True, slots=True)
class PackedChunk:
    """A chunk on its way into the store. copies: lines that repeat a rank file."""

    header: ChunkHeader
    copies: int
    body: bytes


def add_chunks(owner: ChunkOwner, chunks: Sequence[PackedChunk], *, merged: bool = False) -> None:
    """Keeps the bodies, then their rows; in the caller's transaction. Raises BucketAway."""
    places = payloads.put(owner.run_id, [chunk.body for chunk in chunks])
    rows = [
        _row(owner, chunk, place, merged or chunk.header.lines >= MERGED_LINES)
        for chunk, place in zip(chunks, places, strict=True)
    ]
    copy_in("logs_chunk", _COLUMNS, rows)


def _row(owner: ChunkOwner, chunk: PackedChunk, place: Place, merged: bool) -> tuple[object, ...]:
    header = chunk.header
    return (
        owner.run_id,
        owner.attempt,
        owner.node,
        owner.batch_id,
        *header.first,
        *header.last,
        header.lines,
        chunk.copies,
        *header.by_severity,
        list(header.ranks),
        header.text_bytes,
        place.body,
        place.size_bytes,
        place.bundle_id,
        place.at,
        merged,
    )


def place_of(row: Chunk) -> Place:
    """Where the bytes of a chunk are, for payloads.get()."""
    body = bytes(row.body) if row.body is not None else None
    return Place(body, row.size_bytes, row.bundle_id, row.body_at)
