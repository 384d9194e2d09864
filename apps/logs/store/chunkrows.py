"""Rows of chunks: added with their bodies, by COPY, and deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.sql import copy_in, query
from apps.logs.domain.chunk.chunks import ChunkHeader
from apps.logs.models import Chunk
from apps.logs.store import payloads
from apps.logs.store.payloads import Place

_LOCK = 0x4C47_4C43
"""First half of the advisory lock ("LGLC"); the second is the run."""
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
    "sieve": "bytea",
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
    """A chunk on its way into the store. copies: lines that repeat a rank file. merged: for good,
    see domain/chunk/merging.py."""

    owner: ChunkOwner
    header: ChunkHeader
    copies: int
    body: bytes
    merged: bool = False


def add_chunks(chunks: Sequence[PackedChunk]) -> None:
    """Keeps the bodies of chunks of one run, then their rows; in the caller's transaction.

    Raises BucketAway.
    """
    if chunks:
        places = payloads.put(chunks[0].owner.run_id, [chunk.body for chunk in chunks])
        rows = [_row(chunk, place) for chunk, place in zip(chunks, places, strict=True)]
        copy_in("logs_chunk", _COLUMNS, rows)


def _row(chunk: PackedChunk, place: Place) -> tuple[object, ...]:
    owner = chunk.owner
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
        header.sieve,
        chunk.merged,
    )


def place_of(row: Chunk) -> Place:
    """Where the bytes of a chunk are, for payloads.get()."""
    body = bytes(row.body) if row.body is not None else None
    return Place(body, row.size_bytes, row.bundle_id, row.body_at)


def lock_chunks(run_id: int, *, wait: bool) -> bool:
    """Whether this transaction may delete chunks of the run: one at a time may."""
    function = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"
    rows = query(f"SELECT {function}(%s, %s)", [_LOCK, run_id % (1 << 31)])
    return rows[0][0] is not False


def delete_chunks(run_id: int, chunk_ids: Sequence[int]) -> int:
    """Deletes rows and lets go of their bundles; their packed bytes. Hold lock_chunks().

    -- uses the primary key
    """
    if not chunk_ids:
        return 0
    sql = """
        DELETE FROM logs_chunk WHERE run_id = %s AND chunk_id = ANY(%s)
        RETURNING bundle_id, size_bytes
    """
    rows = query(sql, [run_id, list(chunk_ids)])
    payloads.release(run_id, Counter(bundle for bundle, _ in rows if bundle is not None))
    return sum(size for _, size in rows)
