"""What the headers of the chunks tell without decoding one: the extent of an attempt, arrivals."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Max, Min, Sum

from apps.logs.models import Chunk

OVERLAP = 64
"""Chunk numbers are taken before the commit: this many below the newest may still appear."""
MAX_ARRIVALS = 1_000
LATE_NS = 10_000_000_000
"""A line is late if lines so much younger had been stored before it. Hosts that send once a second
and whose clocks differ by some seconds are not."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One chunk: its number, the time of its first line, how many lines."""

    chunk_id: int
    first_ns: int
    lines: int


def arrivals(run_id: int, attempt: int, since: int) -> list[Arrival]:
    """Chunks numbered above `since`, and the OVERLAP below it; ascending. -- uses the primary key

    Late lines are found by it, whatever their time. At most MAX_ARRIVALS: ask again with the last
    one's number.
    """
    rows = Chunk.objects.filter(run_id=run_id, chunk_id__gt=since - OVERLAP, attempt=attempt)
    found = rows.order_by("chunk_id").values_list("chunk_id", "first_ns", "lines")
    return [Arrival(*row) for row in found[:MAX_ARRIVALS]]


def newest_chunk(run_id: int) -> int:
    """The highest number of a chunk of the run; 0 if there is none. -- uses the primary key"""
    rows = Chunk.objects.filter(run_id=run_id).order_by("-chunk_id")
    return rows.values_list("chunk_id", flat=True).first() or 0


def late_before_ns(run_id: int, attempt: int) -> int | None:
    """Lines that come now and are older than this are late; None for the first lines of an attempt.

    -- uses ix_chunk_last
    """
    newest = Chunk.objects.filter(run_id=run_id, attempt=attempt).order_by("-last_ns")
    last_ns = newest.values_list("last_ns", flat=True).first()
    return None if last_ns is None else last_ns - LATE_NS


def line_counts(run_id: int, attempt: int, since_ns: int | None) -> tuple[int, int]:
    """(lines of chunks that reach to `since_ns` or later, all lines) of an attempt. None: all of
    them, twice. -- uses ix_chunk_first, ix_chunk_last"""
    rows = Chunk.objects.filter(run_id=run_id, attempt=attempt)
    total = rows.aggregate(lines=Sum("lines"))["lines"] or 0
    if since_ns is None:
        return total, total
    return rows.filter(last_ns__gte=since_ns).aggregate(lines=Sum("lines"))["lines"] or 0, total


def extent(run_id: int, attempt: int) -> tuple[int, int] | None:
    """First and last time of the lines of an attempt. -- uses ix_chunk_first, ix_chunk_last"""
    rows = Chunk.objects.filter(run_id=run_id, attempt=attempt)
    found = rows.aggregate(first=Min("first_ns"), last=Max("last_ns"))
    return None if found["first"] is None else (found["first"], found["last"])
