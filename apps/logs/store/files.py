"""The files of a batch: locked, with their coverage, and written back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.core.sql import execute, query
from apps.logs.domain.chunk.coverage import Coverage
from apps.logs.domain.reading.carry import Carry, unpack
from apps.logs.domain.reading.segments import SegmentMeta

FileKey = tuple[str, int]

# -- uses logs_source_is_one_file and the primary key of logs_gap
_LOCK = """
    SELECT s.source_id, s.name, s.generation, s.end_offset, s.lines, s.skipped_lines, s.last_ns,
      s.carry,
      ARRAY(SELECT ARRAY[g.start_offset, g.end_offset] FROM logs_gap AS g
        WHERE g.run_id = s.run_id AND g.source_id = s.source_id ORDER BY g.start_offset)
    FROM logs_source AS s
    WHERE s.run_id = %s AND s.attempt = %s AND s.node = %s AND s.name = ANY(%s)
    ORDER BY s.source_id FOR UPDATE OF s
"""
_ADD = """
    INSERT INTO logs_source (run_id, attempt, node, name, generation, channel, local_rank,
      end_offset, lines, skipped_lines)
    SELECT %s, %s, %s, n.name, n.generation, n.channel, n.local_rank, 0, 0, 0
    FROM unnest(%s::text[], %s::int4[], %s::text[], %s::int4[])
      AS n (name, generation, channel, local_rank)
    ON CONFLICT DO NOTHING
"""
_SAVE = """
    UPDATE logs_source AS s SET end_offset = n.end_offset, lines = n.lines,
      skipped_lines = n.skipped_lines, last_ns = n.last_ns, carry = n.carry
    FROM unnest(%s::int8[], %s::int8[], %s::int8[], %s::int8[], %s::int8[], %s::bytea[])
      AS n (source_id, end_offset, lines, skipped_lines, last_ns, carry)
    WHERE s.run_id = %s AND s.source_id = n.source_id
"""
_DROP_GAPS = "DELETE FROM logs_gap WHERE run_id = %s AND source_id = %s"
_ADD_GAPS = """
    INSERT INTO logs_gap (run_id, source_id, start_offset, end_offset)
    SELECT %s, %s, n.start_offset, n.end_offset
    FROM unnest(%s::int8[], %s::int8[]) AS n (start_offset, end_offset)
"""


# -- uses logs_source_is_one_file
_CONTEXTS = """
    SELECT name, generation, last_ns, carry FROM logs_source
    WHERE run_id = %s AND attempt = %s AND node = %s AND name = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class FileContext:
    """What is known of a file before its next segment. last_ns: time of its last stored line."""

    last_ns: int | None
    carry: Carry | None


@dataclass(slots=True)
class OpenFile:
    """One generation of one file while a batch is written. Fields as in models.Source."""

    source_id: int
    name: str
    generation: int
    coverage: Coverage
    lines: int
    skipped_lines: int
    last_ns: int | None
    carry: bytes | None
    had_gaps: bool

    def context(self) -> FileContext:
        """What its next segment has to know."""
        return FileContext(self.last_ns, unpack(self.carry))


def contexts(
    run_id: int, attempt: int, node: str | None, names: Sequence[str]
) -> dict[FileKey, FileContext]:
    """(source, generation) -> what the stored part of that file leaves open."""
    rows = query(_CONTEXTS, [run_id, attempt, node or "", list(names)])
    return {(row[0], row[1]): FileContext(row[2], unpack(row[3])) for row in rows}


def lock_files(
    run_id: int, attempt: int, node: str, names: Sequence[str]
) -> dict[FileKey, OpenFile]:
    """All generations of the files with these names; locked until the transaction ends."""
    rows = query(_LOCK, [run_id, attempt, node, sorted(names)])
    return {
        (row[1], row[2]): OpenFile(
            source_id=row[0],
            name=row[1],
            generation=row[2],
            coverage=Coverage(row[3], tuple((start, end) for start, end in row[8])),
            lines=row[4],
            skipped_lines=row[5],
            last_ns=row[6],
            carry=row[7],
            had_gaps=bool(row[8]),
        )
        for row in rows
    }


def add_files(run_id: int, attempt: int, node: str, metas: Sequence[SegmentMeta]) -> None:
    """Makes the files of these segments known, each once."""
    new = list({(meta.source, meta.generation): meta for meta in metas}.values())
    columns = (
        [meta.source for meta in new],
        [meta.generation for meta in new],
        [meta.channel for meta in new],
        [meta.local_rank for meta in new],
    )
    execute(_ADD, [run_id, attempt, node, *columns])


def save_files(run_id: int, files: Iterable[OpenFile]) -> None:
    """Writes back what a batch changed. Gaps are rare: rewritten where a file has or had one."""
    changed = list(files)
    columns = (
        [file.source_id for file in changed],
        [file.coverage.end for file in changed],
        [file.lines for file in changed],
        [file.skipped_lines for file in changed],
        [file.last_ns for file in changed],
        [file.carry for file in changed],
    )
    if changed:
        execute(_SAVE, [*columns, run_id])
    for file in changed:
        if file.had_gaps:
            execute(_DROP_GAPS, [run_id, file.source_id])
        if file.coverage.gaps:
            gaps = file.coverage.gaps
            spans = ([start for start, _ in gaps], [end for _, end in gaps])
            execute(_ADD_GAPS, [run_id, file.source_id, *spans])
