"""Small chunks into large ones: one transaction replaces rows, and a kill leaves all or nothing.

Chunks never change, so that only those who delete some could meet: they hold lock_chunks().
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from django.db import transaction

from apps.core.errors import AppError
from apps.core.sql import execute, query
from apps.logs.domain.chunk.chunks import ChunkLines, decode_chunk, encode_chunk
from apps.logs.domain.chunk.merging import (
    LEVEL,
    MergePolicy,
    Portion,
    Small,
    in_file_order,
    next_portion,
)
from apps.logs.domain.reading.lines import TEE
from apps.logs.store import payloads
from apps.logs.store.chunkrows import (
    ChunkOwner,
    PackedChunk,
    add_chunks,
    delete_chunks,
    lock_chunks,
)
from apps.logs.store.payloads import Place

log = logging.getLogger(__name__)
MAX_MERGES = 64
MAX_SECONDS = 4.0
"""Of one transaction."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What one transaction did. before_bytes, after_bytes: packed."""

    chunks: int = 0
    into: int = 0
    before_bytes: int = 0
    after_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """Chunks that are not merged yet; most of them wait for more lines of their node."""

    chunks: int
    size_bytes: int


def waiting() -> Waiting:
    """How many chunks of all runs are not merged. -- scans ix_chunk_to_merge"""
    rows = query("SELECT count(*), coalesce(sum(size_bytes), 0) FROM logs_chunk WHERE NOT merged")
    return Waiting(rows[0][0], int(rows[0][1]))


def runs_to_merge(policy: MergePolicy, limit: int = 100) -> list[int]:
    """Runs with enough small chunks, those with most first. -- scans ix_chunk_to_merge"""
    sql = """
        SELECT run_id FROM (
          SELECT run_id, count(*) AS chunks FROM logs_chunk WHERE NOT merged
           GROUP BY run_id, attempt, node
          HAVING sum(lines) >= %s OR sum(text_bytes) >= %s OR count(*) >= %s) AS due
        GROUP BY run_id ORDER BY sum(chunks) DESC LIMIT %s
    """
    return [row[0] for row in query(sql, [*_bounds(policy), limit])]


def _bounds(policy: MergePolicy) -> list[int]:
    return [policy.lines, policy.text_bytes, policy.min_chunks]


def merge_some(run_id: int, policy: MergePolicy) -> Merged:
    """Merges what fits into one transaction; nothing if none is due or another one is at work.

    Raises BucketAway.
    """
    with transaction.atomic():
        if not lock_chunks(run_id, wait=False):
            return Merged()
        return _replace(run_id, policy)


def _replace(run_id: int, policy: MergePolicy) -> Merged:
    end = time.monotonic() + MAX_SECONDS
    packed: list[PackedChunk] = []
    gone: list[int] = []
    for owner, portion in _portions(run_id, policy):
        readable = _read(run_id, portion.chunk_ids)
        if readable:
            packed.append(_merge(owner, list(readable.values()), final=portion.final))
            gone += readable
        if len(packed) >= MAX_MERGES or time.monotonic() > end:
            break
    before = delete_chunks(run_id, gone)
    add_chunks(packed)
    after = sum(len(chunk.body) for chunk in packed)
    return Merged(len(gone), len(packed), before, after)


def _portions(run_id: int, policy: MergePolicy) -> Iterator[tuple[ChunkOwner, Portion]]:
    """What is due of a run, node by node. -- uses ix_chunk_to_merge"""
    sql = """
        SELECT attempt, node FROM logs_chunk WHERE run_id = %s AND NOT merged
         GROUP BY attempt, node
        HAVING sum(lines) >= %s OR sum(text_bytes) >= %s OR count(*) >= %s LIMIT %s
    """
    for attempt, node in query(sql, [run_id, *_bounds(policy), MAX_MERGES]):
        owner = ChunkOwner(run_id, attempt, node, "")
        left = _small(owner)
        while (portion := next_portion(left, policy)).chunk_ids:
            yield owner, portion
            left = left[len(portion.chunk_ids) :] if portion.final else []


def _small(owner: ChunkOwner) -> list[Small]:
    """-- uses ix_chunk_to_merge"""
    sql = """
        SELECT chunk_id, first_ns, last_ns, lines, text_bytes FROM logs_chunk
         WHERE run_id = %s AND attempt = %s AND node = %s AND NOT merged
         ORDER BY first_ns, chunk_id LIMIT 4000
    """
    rows = query(sql, [owner.run_id, owner.attempt, owner.node])
    return [Small(*row) for row in rows]


def _read(run_id: int, chunk_ids: Sequence[int]) -> dict[int, ChunkLines]:
    """The chunks that can be read. The others are left as they are, for good: readers name them."""
    sql = """
        SELECT chunk_id, body, size_bytes, bundle_id, body_at FROM logs_chunk
         WHERE run_id = %s AND chunk_id = ANY(%s)
    """
    places = {
        chunk_id: Place(bytes(body) if body is not None else None, *rest)
        for chunk_id, body, *rest in query(sql, [run_id, list(chunk_ids)])
    }
    try:
        bodies = payloads.get(run_id, list(places.values()))
        return {one: decode_chunk(body) for one, body in zip(places, bodies, strict=True)}
    except AppError:
        return {one: lines for one, place in places.items() for lines in _alone(run_id, one, place)}


def _alone(run_id: int, chunk_id: int, place: Place) -> list[ChunkLines]:
    try:
        return [decode_chunk(body) for body in payloads.get(run_id, [place])]
    except AppError as error:
        log.error("logs.not_merged", extra={"run": run_id, "reason": str(error)})
        execute(
            "UPDATE logs_chunk SET merged = true WHERE run_id = %s AND chunk_id = %s",
            [run_id, chunk_id],
        )
        return []


def _merge(owner: ChunkOwner, chunks: Sequence[ChunkLines], *, final: bool) -> PackedChunk:
    lines = in_file_order(chunks)
    header, body = encode_chunk([lines], level=LEVEL)
    copies = int(np.count_nonzero(lines.of_channel(TEE)))
    return PackedChunk(owner, header, copies, body, merged=final)
