"""What is stored of files and ranks, and how far it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.db.models import Count, F, Sum

from apps.core.sql import query as ask
from apps.logs.models import Gap, RankLog, Source
from apps.logs.records import RankActivity, SourceInfo
from apps.runs import store as runs

MAX_LISTED = 10_000
MAX_RANKS = 100_000


def end_offset(run_id: int, attempt: int, node: str | None, name: str) -> int:
    """Where the stored part of a file ends; 0 if none is. -- uses logs_source_is_one_file"""
    rows = Source.objects.filter(run_id=run_id, attempt=attempt, node=node or "", name=name)
    return rows.order_by("-generation").values_list("end_offset", flat=True).first() or 0


def end_offsets(run_id: int, attempt: int, node: str, names: Sequence[str]) -> dict[str, int]:
    """The same for several files of a node; those that are not known are not in it.

    -- uses logs_source_is_one_file
    """
    rows = Source.objects.filter(run_id=run_id, attempt=attempt, node=node, name__in=set(names))
    return dict(rows.order_by("generation").values_list("name", "end_offset"))


def source_count(run_id: int) -> int:
    """How many log files the run has. -- uses the primary key"""
    return Source.objects.filter(run_id=run_id).count()


def sources(run_id: int, attempt: int) -> list[SourceInfo]:
    """All log files of an attempt with what is missing. -- uses logs_source_is_one_file"""
    rows = Source.objects.filter(run_id=run_id, attempt=attempt)
    gaps = {
        row["source_id"]: row
        for row in Gap.objects.filter(run_id=run_id)
        .values("source_id")
        .annotate(number=Count("start_offset"), missing=Sum(F("end_offset") - F("start_offset")))
    }
    return [
        SourceInfo(
            node=row.node or None,
            source=row.name,
            generation=row.generation,
            channel=row.channel,
            local_rank=row.local_rank,
            end_offset=row.end_offset,
            lines=row.lines,
            skipped_lines=row.skipped_lines,
            gaps=gaps[row.source_id]["number"] if row.source_id in gaps else 0,
            missing_bytes=gaps[row.source_id]["missing"] if row.source_id in gaps else 0,
            last_ns=row.last_ns,
        )
        for row in rows.order_by("node", "name", "generation")[:MAX_LISTED]
    ]


def file_totals(
    run_id: int, attempts: Collection[int], prefix: str
) -> dict[tuple[int, bool], tuple[int, str, int]]:
    """(attempt, whether their names begin so) -> (number of nodes, first node, lines) of all files.

    -- uses logs_source_is_one_file
    """
    sql = """
        SELECT attempt, starts_with(name, %s), count(DISTINCT node), min(node), sum(lines)
          FROM logs_source WHERE run_id = %s AND attempt = ANY(%s) GROUP BY 1, 2
    """
    rows = ask(sql, [prefix, run_id, list(attempts)])
    return {(number, own): (nodes, node, int(n)) for number, own, nodes, node, n in rows}


def heard(attempts: Mapping[int, int]) -> dict[int, int]:
    """run id -> how many of its ranks logged a line in the attempt that is given for it.

    One statement, and two a run whose processes do not all name their rank. -- uses primary keys
    """
    sql = """
        SELECT run_id, count(DISTINCT rank), bool_or(rank IS NULL) FROM logs_ranklog
         WHERE (run_id, attempt) IN (SELECT * FROM unnest(%s::bigint[], %s::int[]))
           AND last_ns IS NOT NULL GROUP BY run_id
    """
    rows = ask(sql, [list(attempts), list(attempts.values())])
    return {
        run_id: _placed(run_id, attempts[run_id]) if nameless else ranks
        for run_id, ranks, nameless in rows
    }


def _placed(run_id: int, attempt: int) -> int:
    found = rank_activity(run_id, attempt)
    return len({a.rank for a in found if a.rank is not None and a.last_ns is not None})


def rank_activity(run_id: int, attempt: int) -> list[RankActivity]:
    """All ranks of an attempt, ascending; placed ranks without a line too. -- primary keys"""
    placed = runs.placements(run_id, attempt)
    by_place = {(p.node, p.local_rank): rank for rank, p in placed.items()}
    rows = RankLog.objects.filter(run_id=run_id, attempt=attempt).order_by("node", "slot")
    seen = []
    for row in rows[:MAX_RANKS]:
        rank = row.rank if row.rank is not None else by_place.get((row.node, row.local_rank))
        seen.append(
            RankActivity(
                rank=rank,
                node=row.node or None,
                local_rank=row.local_rank,
                last_ns=row.last_ns,
                last_step=row.last_step,
                worst_severity=row.worst_severity,
                lines=row.lines or row.copies,
                last_text=row.last_text,
            )
        )
    known = {activity.rank for activity in seen}
    silent = [
        RankActivity(rank, p.node, p.local_rank, None, None, 0, 0, "")
        for rank, p in placed.items()
        if rank not in known
    ]
    return sorted([*seen, *silent], key=lambda a: (a.rank is None, a.rank or 0, a.node or ""))
