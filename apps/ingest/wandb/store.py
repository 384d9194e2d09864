"""Statements about the lines of W&B processes that are stored, and those that are missing."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from apps.core.errors import BadPayload
from apps.core.sql import execute, query
from apps.ingest.models import WandbFile
from apps.ingest.wandb.lines import (
    EVENTS,
    HISTORY,
    NUMBERED,
    OUTPUT,
    Piece,
    origin_ns,
    rewritten,
    stamp_ns,
)
from apps.ingest.wandb.parse import WandbBody
from apps.ingest.wandb.values import storable
from apps.logs.domain.chunk.coverage import Accepted, Coverage, accept

MAX_SHOWN_GAPS: Final = 100
RECORDS: Final = ".wandb"
"""What the records of a file are kept under, beside the files of file_stream; its writer is a hash
of the file's name, its first_ns the CRC of record 0."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who wrote a line: the attempt, and which process if several write one run."""

    run_id: int
    attempt: int
    name: str


@dataclass(frozen=True, slots=True)
class FreshLines:
    """What of a piece was new. gaps: opened by it. missing: change of the lines not here.
    rewritten: of the lines, those that are stored already and say something else now."""

    lines: Sequence[str]
    repeated: int
    gaps: int
    missing: int
    rewritten: int = 0


def continue_lines(
    run_id: int, attempt: int, first_lines: Mapping[str, int], tails: Mapping[str, str]
) -> None:
    """The lines of `attempt` are numbered from `first_lines` on. tails: file -> line before."""
    rows = [
        WandbFile(
            run_id=run_id,
            attempt=attempt,
            writer="",
            file=file,
            first_line=first,
            end_line=first,
            tail=tails.get(file, ""),
        )
        for file, first in first_lines.items()
    ]
    WandbFile.objects.bulk_create(rows, ignore_conflicts=True)


def first_lines(writer: Writer) -> dict[str, int]:
    """file -> number of the first line of a process. -- uses the primary key"""
    rows = WandbFile.objects.filter(
        run_id=writer.run_id, attempt=writer.attempt, writer=writer.name
    )
    return dict(rows.values_list("file", "first_line"))


def ends(run_id: int, attempt: int) -> dict[str, tuple[int, str]]:
    """file -> (number of its next line, last line), of a lone process. -- uses the primary key

    A process that died before its first line changes nothing: the one before it counts.
    """
    lone = WandbFile.objects.filter(run_id=run_id, writer="", file__in=NUMBERED)
    rows = list(lone.filter(attempt__lte=attempt).order_by("-attempt")[: len(NUMBERED)])
    return {row.file: (row.end_line, row.tail) for row in rows if row.attempt == rows[0].attempt}


@dataclass(frozen=True, slots=True)
class Gap:
    """Lines of one file of a process that never came."""

    attempt: int
    writer: str
    file: str
    first_line: int
    lines: int


def open_gaps(run_id: int) -> list[Gap]:
    """Lines of history and console that are missing, oldest first. -- uses the primary key"""
    rows = WandbFile.objects.filter(run_id=run_id, file__in=(HISTORY, OUTPUT)).exclude(gaps=[])
    found = [
        Gap(row.attempt, row.writer, row.file, start, end - start)
        for row in rows.order_by("attempt", "writer", "file")[:MAX_SHOWN_GAPS]
        for start, end in row.gaps
    ]
    return found[:MAX_SHOWN_GAPS]


def history_lines(run_ids: Sequence[int]) -> dict[int, int]:
    """run id -> how many lines of history its newest process has, those it went on from included;
    of writers that share a run, all of theirs. -- uses the primary key"""
    sql = """
        SELECT DISTINCT ON (run_id) run_id, sum(end_line) FROM ingest_wandbfile
         WHERE run_id = ANY(%s) AND file = %s
         GROUP BY run_id, attempt ORDER BY run_id, attempt DESC
    """
    return {run_id: int(lines) for run_id, lines in query(sql, [list(run_ids), HISTORY])}


def take(writer: Writer, piece: Piece) -> FreshLines:
    """The lines of the piece that are not stored yet; they count as stored from here on.

    Holds no lock: the caller holds the run's row. BadPayload if another process used the same
    numbers, so that nothing is taken for a repeat that is none.
    """
    key = {
        "run_id": writer.run_id,
        "attempt": writer.attempt,
        "writer": writer.name,
        "file": piece.file,
    }
    row = WandbFile.objects.filter(**key).first()
    if row is None:
        first = _first_number(writer, piece)
        row = WandbFile(**key, first_line=first, end_line=first, gaps=[])
    _check_first(row, piece)
    before = Coverage(row.end_line, tuple((start, end) for start, end in row.gaps))
    numbers = range(piece.offset, piece.offset + len(piece.lines))
    found = accept(before, numbers.start, numbers.stop, numbers)
    if found.coverage.end > row.end_line and piece.lines:
        row.tail = storable(piece.lines[-1])
    row.end_line, row.gaps = found.coverage.end, [list(gap) for gap in found.coverage.gaps]
    changed: tuple[int, ...] = ()
    if piece.file == OUTPUT and piece.lines:
        seen = rewritten(piece, found.keep, dict(row.recent))
        changed, row.recent = seen.indices, [list(item) for item in seen.recent]
    _put(row)
    return _fresh(piece, before, found, changed)


def _put(row: WandbFile) -> None:
    """Stores the row, new or not, in one statement."""
    sql = """
        INSERT INTO ingest_wandbfile (run_id, attempt, writer, file, first_line, end_line, gaps,
          first_ns, origin_ns, tail, recent)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
        ON CONFLICT (run_id, attempt, writer, file) DO UPDATE SET
          first_line = EXCLUDED.first_line, end_line = EXCLUDED.end_line, gaps = EXCLUDED.gaps,
          first_ns = EXCLUDED.first_ns, origin_ns = EXCLUDED.origin_ns, tail = EXCLUDED.tail,
          recent = EXCLUDED.recent
    """
    key = [row.run_id, row.attempt, row.writer, row.file]
    gaps, recent = (orjson.dumps(value).decode() for value in (row.gaps, row.recent))
    execute(
        sql,
        [*key, row.first_line, row.end_line, gaps, row.first_ns, row.origin_ns, row.tail, recent],
    )


def _first_number(writer: Writer, piece: Piece) -> int:
    """Where a process begins to count: at 0, or where the one before it ended, which it resumes.

    Old clients do not say that they resume: only their numbers do.
    """
    if piece.offset == 0:
        return 0
    earlier = WandbFile.objects.filter(run_id=writer.run_id, attempt__lt=writer.attempt)
    before = earlier.filter(writer=writer.name, file=piece.file).order_by("-attempt").first()
    return piece.offset if before is not None and before.end_line == piece.offset else 0


def _fresh(piece: Piece, before: Coverage, found: Accepted, changed: Collection[int]) -> FreshLines:
    kept = sorted([*found.keep, *changed])
    return FreshLines(
        lines=[piece.lines[number] for number in kept],
        repeated=len(piece.lines) - len(kept),
        gaps=int(found.opened is not None),
        missing=found.coverage.missing() - before.missing(),
        rewritten=len(changed),
    )


def _is_same(before_ns: int | None, now_ns: int | None) -> bool:
    """Equal to the microsecond, as an older program kept them."""
    if before_ns is None or now_ns is None:
        return before_ns is None
    return abs(before_ns - now_ns) < 1_000


def _check_first(row: WandbFile, piece: Piece) -> None:
    if not piece.lines or piece.file not in (HISTORY, EVENTS):
        return
    if row.origin_ns is None:
        row.origin_ns = origin_ns(piece.lines)
    if piece.offset != row.first_line:
        return
    first_ns = stamp_ns(piece.lines[0])
    if not _is_same(row.first_ns, first_ns):
        raise BadPayload(
            "another process has sent other lines under these numbers",
            where=f"files.{piece.file}",
            hint="two processes wrote one W&B run at once, or two copies of it were synced",
        )
    row.first_ns = first_ns


@dataclass(frozen=True, slots=True)
class FreshRecords:
    """Records of a `.wandb` file that were new; the first is number first_record of the file."""

    records: Sequence[bytes]
    first_record: int
    repeated: int
    gaps: int
    missing: int


def take_records(writer: Writer, body: WandbBody) -> FreshRecords:
    """The records of the body that are not stored yet; they count as stored from here on.

    An agent that lost its state cuts the file at other places: the numbers of the records tell.
    Holds no lock: the caller holds the run's row. BadPayload if the file is another one.
    """
    name = hashlib.blake2b(writer.name.encode(), digest_size=16).hexdigest()
    key = {"run_id": writer.run_id, "attempt": writer.attempt, "writer": name, "file": RECORDS}
    row = WandbFile.objects.filter(**key).first() or WandbFile(**key, end_line=0, gaps=[])
    if body.records and not body.first_record:
        first = zlib.crc32(body.records[0])
        if row.first_ns not in (None, first):
            raise BadPayload(
                "another file of this name has been read for this attempt",
                where="header.file",
                hint="each start of a run is announced (POST .../launches) and has its own attempt",
            )
        row.first_ns = first
    before = Coverage(row.end_line, tuple((start, end) for start, end in row.gaps))
    numbers = range(body.first_record, body.first_record + len(body.records))
    found = accept(before, numbers.start, numbers.stop, numbers)
    row.end_line, row.gaps = found.coverage.end, [list(gap) for gap in found.coverage.gaps]
    _put(row)
    return FreshRecords(
        records=[body.records[number] for number in found.keep],
        first_record=body.first_record + (found.keep[0] if found.keep else 0),
        repeated=len(body.records) - len(found.keep),
        gaps=int(found.opened is not None),
        missing=found.coverage.missing() - before.missing(),
    )
