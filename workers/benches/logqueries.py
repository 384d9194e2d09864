"""The queries of the log corpus, with their right answers, on a store that holds it.

Each goes through the use case that pages and API call, Postgres included. Warm is the median of
five after one call; cold is the first call after a restart of Postgres, on a new connection, in a
process that has no chunk open. The pages that the kernel keeps in memory are warm in both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connections

from apps.core.errors import AppError
from apps.core.records import Severity
from apps.logs import search
from apps.logs.patterns import PatternQuery, read_patterns
from apps.logs.records import LogEntry, LogQuery
from apps.logs.store.opened import OPENED
from workers.benches.logtape import CorpusOptions

WARM_CALLS = 5
LAST_LINES = 200
CONTEXT_LINES = 10
RANK = 5
_ALL_CHUNKS = 1_000_000


@dataclass(frozen=True, slots=True)
class Asked:
    """One query. ask: gives the number that its answer is judged by. right: what it must be.

    bar_ms: what warm calls may take; None where nobody said. of_levels: lines of some level.
    """

    name: str
    ask: Callable[[], int]
    right: int
    bar_ms: float | None = None
    of_levels: bool = False


def measure(
    run_id: int, truth: Mapping[str, Any], restart: Callable[[], None], *, levels: bool
) -> dict[str, float]:
    """Milliseconds of every query, as NAME_cold_ms and NAME_warm_ms. AppError for a wrong answer.

    restart: restarts Postgres. levels: the sender told those that truth counts.
    """
    found: dict[str, float] = {}
    for asked in queries(run_id, truth):
        if asked.of_levels and not levels:
            continue
        connections.close_all()
        restart()
        OPENED.clear()
        cold_ms = _timed(asked)
        _timed(asked)
        warm_ms = statistics.median(_timed(asked) for _ in range(WARM_CALLS))
        name = asked.name.replace(" ", "_")
        found |= {f"{name}_cold_ms": round(cold_ms, 1), f"{name}_warm_ms": round(warm_ms, 1)}
    return found


def _timed(asked: Asked) -> float:
    began = time.perf_counter()
    answer = asked.ask()
    took = (time.perf_counter() - began) * 1e3
    if answer != asked.right:
        raise AppError(f"{answer} instead of {asked.right}", where=asked.name)
    return took


def queries(run_id: int, truth: Mapping[str, Any]) -> list[Asked]:
    """What truth.json asks, and what a page of logs does most."""
    everything = LogQuery(run_id, 0, limit=1_000, max_chunks=_ALL_CHUNKS)
    needle = replace(everything, words=(truth["needle"],))
    start, end = (_ns(text) for text in truth["q3_window"])
    errors = replace(everything, min_severity=Severity.ERROR, from_ns=start, to_ns=end - 1)
    rank = replace(everything, ranks=(RANK,), limit=LAST_LINES, newest_first=True)
    hit = search.line_cursor(_lines(needle)[0])
    both = CONTEXT_LINES
    return [
        Asked("needle", lambda: len(_lines(needle)), truth["needle_lines"], 100),
        Asked("needle in any case", lambda: len(_lines(_any_case(needle))), truth["needle_lines"]),
        _regex("rare regex", everything, truth, "regex_rare", 100),
        _regex("heavy regex", everything, truth, "regex_heavy"),
        Asked("errors of a rank", lambda: len(_lines(replace(errors, ranks=(truth["root_rank"],)))),
              truth["q3_error_rank"], 5, of_levels=True),
        Asked("errors of all ranks", lambda: len(_lines(errors)), truth["q3_error_all"],
              of_levels=True),
        Asked("lines per minute and host", lambda: _minutes(run_id),
              truth["minute_host_buckets"], 30),
        Asked("last lines of a rank", lambda: len(search.page(rank).lines), LAST_LINES, 5),
        Asked("context of a hit", lambda: len(search.around(run_id, hit, both, both).lines),
              2 * both + 1, 60),
        Asked("top patterns", lambda: _pattern_lines(run_id), truth["lines"], 100),
        Asked("ranks over time", lambda: len(search.rank_matrix(run_id, 0, None, None, 200).ranks),
              CorpusOptions().ranks),
    ]  # fmt: skip


def _regex(
    name: str, query: LogQuery, truth: Mapping[str, Any], key: str, bar_ms: float | None = None
) -> Asked:
    asked = replace(query, regex=truth[key])
    return Asked(name, lambda: len(_lines(asked)), truth[f"{key}_lines"], bar_ms)


def _any_case(query: LogQuery) -> LogQuery:
    return replace(query, words=tuple(map(str.upper, query.words)), ignore_case=True)


def _lines(query: LogQuery) -> list[LogEntry]:
    """All lines of a query, page by page."""
    lines: list[LogEntry] = []
    cursor: str | None = None
    while True:
        page = search.page(replace(query, after_cursor=cursor))
        lines += page.lines
        cursor = page.next_cursor
        if cursor is None:
            return lines


def _pattern_lines(run_id: int) -> int:
    """Lines of all patterns together, what is new and ordinary judged as well."""
    return sum(one.lines for one in read_patterns(PatternQuery(run_id, 0, limit=5_000)).found)


def _minutes(run_id: int) -> int:
    """Minutes of nodes that have a line."""
    pulse = search.pulse(run_id, 0, None, None, 2_000)
    return sum(int(counts.any(axis=1).sum()) for counts in pulse.nodes.values())


def _ns(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1e6) * 1_000
