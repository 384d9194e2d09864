"""Statements that choose chunks: by what their rows say, without their bytes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from apps.core.errors import AppError
from apps.core.records import Severity
from apps.core.sql import query as ask
from apps.core.sql import query_bytes
from apps.logs.domain.chunk.openchunk import OpenChunk
from apps.logs.domain.query.ranksets import Spans
from apps.logs.records import LogQuery
from apps.logs.store import payloads
from apps.logs.store.bucket import BucketAway
from apps.logs.store.opened import OPENED
from apps.logs.store.payloads import Place

MAX_SPANNED = 100_000
FEW_RANKS = 64
MAX_NODES = 64
MAX_COUNTED = 50_000
_BY_SEVERITY = (
    (Severity.DEBUG, "debug"),
    (Severity.INFO, "info"),
    (Severity.WARNING, "warning"),
    (Severity.ERROR, "error"),
    (Severity.CRITICAL, "critical"),
)
_COLUMNS = "chunk_id, attempt, node, first_ns, last_ns, lines, copies, merged"


class Unreadable(AppError):
    """The bucket does not give the bytes of chunks now."""

    status: ClassVar[int] = 503


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """What a search knows of a chunk before it opens it. merged: it stays as it is (merging.py).

    sieve: b"" if it was not asked for.
    """

    chunk_id: int
    attempt: int
    node: str
    first_ns: int
    last_ns: int
    lines: int
    copies: int
    merged: bool
    sieve: bytes = b""


@dataclass(slots=True)
class Where:
    """Conditions of a statement and their values; all hold."""

    tests: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def add(self, test: str, *values: Any) -> None:
        """One more condition."""
        self.tests.append(test)
        self.values += values

    def also(self, test: str, *values: Any) -> Where:
        """The same with one more condition."""
        return Where([*self.tests, test], [*self.values, *values])

    @property
    def sql(self) -> str:
        """The conditions as SQL."""
        return " AND ".join(self.tests)


def where_of(query: LogQuery, spans: Spans) -> Where:
    """Chunks that may hold lines of the query, whatever the page. spans: all its ranks."""
    found = Where(["run_id = %s"], [query.run_id])
    if query.attempt is not None:
        found.add("attempt = %s", query.attempt)
    if query.node is not None:
        found.add("node = %s", query.node)
    if query.nodes:
        found.add("node = ANY(%s)", list(query.nodes))
    if spans and sum(b - a + 1 for a, b in spans) <= MAX_SPANNED:
        ranks = [rank for first, last in spans for rank in range(first, last + 1)]
        found.add("ranks && %s::int4[]", ranks)
        if len(ranks) <= FEW_RANKS and ranks[0] >= 0:
            _only_their_nodes(found, query, ranks)
    if query.from_ns is not None:
        found.add("last_ns >= %s", query.from_ns)
    if query.to_ns is not None:
        found.add("first_ns <= %s", query.to_ns)
    asked = [
        f"{column} > 0"
        for severity, column in _BY_SEVERITY
        if query.min_severity <= severity <= query.max_severity
    ]
    if len(asked) < len(_BY_SEVERITY):
        found.add(f"({' OR '.join(asked) or 'false'})")
    return found


def _only_their_nodes(where: Where, query: LogQuery, ranks: Sequence[int]) -> None:
    """Leaves out the chunks of all other nodes: of 2,048 nodes one has the rank.

    -- uses the primary key
    """
    sql = """
        SELECT DISTINCT node FROM logs_ranknode
         WHERE run_id = %s AND (%s::int4 IS NULL OR attempt = %s) AND rank = ANY(%s) LIMIT %s
    """
    attempt = query.attempt
    rows = ask(sql, [query.run_id, attempt, attempt, list(ranks), MAX_NODES + 1])
    if len(rows) == 1:
        where.add("node = %s", rows[0][0])  # equality: the index gives the order too
    elif len(rows) <= MAX_NODES:
        where.add("node = ANY(%s)", [node for (node,) in rows])


def count(where: Where) -> int:
    """How many chunks there are; MAX_COUNTED + 1 for more than that many."""
    sql = f"SELECT count(*) FROM (SELECT 1 FROM logs_chunk WHERE {where.sql} LIMIT %s) AS c"  # noqa: S608 - conditions of this module
    return int(ask(sql, [*where.values, MAX_COUNTED + 1])[0][0])


@dataclass(frozen=True, slots=True)
class Step:
    """Which rows next. behind: (time, chunk id) of the last one, in the order of the search."""

    size: int
    newest_first: bool
    with_sieve: bool
    behind: tuple[int, int] | None = None


def rows_of(where: Where, step: Step) -> list[ChunkRow]:
    """Chunks by first time (newest first: by last time, descending); at equal times by id upwards,
    both ways, so that a chunk that others were merged into meanwhile lies ahead.

    -- uses ix_chunk_first, ix_chunk_last, ix_chunk_node
    """
    name, order, test = ("last_ns", "DESC", "<") if step.newest_first else ("first_ns", "ASC", ">")
    columns = f"{_COLUMNS}, sieve" if step.with_sieve else _COLUMNS
    further, values = "", list(where.values)
    if step.behind is not None:
        # Two conditions: the first alone is one that the index serves.
        further = f" AND {name} {test}= %s AND ({name} {test} %s OR chunk_id > %s)"
        values += [step.behind[0], *step.behind]
    sql = f"""
        SELECT {columns} FROM logs_chunk WHERE {where.sql}{further}
         ORDER BY {name} {order}, chunk_id LIMIT %s
    """  # noqa: S608 - names and conditions of this module
    return [ChunkRow(*row) for row in query_bytes(sql, [*values, step.size])]


def opened(run_id: int, rows: Sequence[ChunkRow]) -> dict[int, OpenChunk]:
    """chunk id -> the chunk; without those that were merged or deleted since. Raises Unreadable.

    Only chunks that nobody used lately are read; see used(). -- uses the primary key
    """
    found = {row.chunk_id: OPENED.get(_key(run_id, row)) for row in rows}
    bodies = _bodies_of(run_id, [chunk_id for chunk_id, known in found.items() if known is None])
    found |= {chunk_id: OpenChunk(body) for chunk_id, body in bodies.items()}
    return {chunk_id: chunk for chunk_id, chunk in found.items() if chunk is not None}


def used(run_id: int, row: ChunkRow, chunk: OpenChunk) -> None:
    """Keeps what was opened of a chunk for the next who asks for it."""
    OPENED.keep(_key(run_id, row), chunk)


def _key(run_id: int, row: ChunkRow) -> Hashable:
    """Times and lines too: a database that was put back to an earlier day gives ids again."""
    return run_id, row.chunk_id, row.first_ns, row.last_ns, row.lines


def _bodies_of(run_id: int, chunk_ids: Sequence[int]) -> dict[int, bytes]:
    sql = """
        SELECT chunk_id, body, size_bytes, bundle_id, body_at FROM logs_chunk
         WHERE run_id = %s AND chunk_id = ANY(%s)
    """
    if not chunk_ids:
        return {}
    places = {
        chunk_id: Place(bytes(body) if body is not None else None, *rest)
        for chunk_id, body, *rest in query_bytes(sql, [run_id, list(chunk_ids)])
    }
    try:
        return dict(zip(places, payloads.get(run_id, list(places.values())), strict=True))
    except BucketAway as error:
        raise Unreadable(str(error), hint="try again in a moment; see Ingest health") from error


def are_there(run_id: int, chunk_ids: Sequence[int]) -> bool:
    """Whether all of them still are rows. -- uses the primary key"""
    sql = "SELECT count(*) FROM logs_chunk WHERE run_id = %s AND chunk_id = ANY(%s)"
    return bool(ask(sql, [run_id, list(chunk_ids)])[0][0] == len(chunk_ids))


def nodes_with_files(run_id: int, places: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
    """Which of these (attempt, node) sent files of ranks. -- uses the primary key"""
    sql = """
        SELECT p.attempt, p.node FROM unnest(%s::int4[], %s::text[]) AS p (attempt, node)
         WHERE EXISTS (SELECT 1 FROM logs_ranklog AS r WHERE r.run_id = %s
           AND r.attempt = p.attempt AND r.node = p.node AND r.lines > 0)
    """
    if not places:
        return set()
    attempts, nodes = [a for a, _ in places], [node for _, node in places]
    return {(attempt, node) for attempt, node in ask(sql, [attempts, nodes, run_id])}
