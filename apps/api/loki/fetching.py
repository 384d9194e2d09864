"""Lines and counts of a LogQL selection, read from the runs it names."""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from apps.api.loki.asking import Asked
from apps.core.records import Severity
from apps.core.words import whole
from apps.logs import search
from apps.logs.domain.clock.timeline import MAX_BUCKETS
from apps.logs.domain.query.logql import Counting, LineFilter, Matcher, Selection
from apps.logs.records import LogEntry, LogQuery
from apps.runs import store as runs
from apps.runs.records import RunInfo

MAX_RUNS = 50
MAX_COUNTED = 1_000_000
MAX_S = 15.0
PAGE = 5_000
MINUTE_NS = 60 * 10**9
LEVELS = {severity.name.lower(): severity for severity in Severity}
_NAMES = {severity: name for name, severity in LEVELS.items()}
_PULSED = frozenset(("run", "project", "attempt", "node", "level"))
_ALTERNATIVES = re.compile(r"[\w\-]+(?:\|[\w\-]+)*")
Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Found:
    """Lines, or the times (ns) of the lines of each group; and what keeps it from being all."""

    lines: list[tuple[Labels, LogEntry]] = field(default_factory=list)
    times: dict[Labels, list[int]] = field(default_factory=lambda: defaultdict(list))
    warnings: list[str] = field(default_factory=list)


def runs_of(selection: Selection, found: Found) -> list[RunInfo]:
    """The runs it names; without a name the newest MAX_RUNS that fulfil it."""
    named = [matcher.value for matcher in selection.on("run") if matcher.op == "="]
    if named:
        known = [run for run in map(runs.get_run, named) if run is not None]
    else:
        known = runs.list_runs(MAX_RUNS, None)
        if len(known) == MAX_RUNS:
            found.warnings.append(f"only the newest {MAX_RUNS} runs were looked at: name one")
    conditions = (*selection.on("run"), *selection.on("project"))
    return [run for run in known if all(m.matches(_of_run(run)[m.label]) for m in conditions)]


def find_lines(selection: Selection, asked: Asked) -> Found:
    """The first `limit` lines in the order asked for."""
    found, end_s = Found(), time.monotonic() + MAX_S
    for run in runs_of(selection, found):
        for taken, line in enumerate(_lines(run, selection, asked, (found, end_s))):
            if taken >= asked.limit:
                break
            found.lines.append(line)
    found.lines.sort(key=_place, reverse=asked.newest_first)
    del found.lines[asked.limit :]
    return found


def _place(line: tuple[Labels, LogEntry]) -> tuple[int, int, int]:
    entry = line[1]
    return entry.time_ns, -1 if entry.rank is None else entry.rank, entry.seq


def count_lines(counting: Counting, asked: Asked) -> Found:
    """Times of the lines that count, from range_ns before the first step on, by kept labels."""
    found, end_s = Found(), time.monotonic() + MAX_S
    first_ns = asked.start_ns - counting.range_ns + 1
    early = replace(asked, start_ns=first_ns, end_ns=asked.end_ns + 1, newest_first=False)
    counted = 0
    for run in runs_of(counting.selection, found):
        for labels, entry in _lines(run, counting.selection, early, (found, end_s)):
            found.times[_kept(labels, counting.by)].append(entry.time_ns)
            counted += 1
            if counted >= MAX_COUNTED:
                found.warnings.append(f"counting stopped after {MAX_COUNTED} lines: narrow it down")
                return found
    return found


def pulsed(counting: Counting, asked: Asked) -> bool:
    """Whether the counts a minute that are kept anyway answer it exactly."""
    selection = counting.selection
    on_minutes = all(
        ns % MINUTE_NS == 0 for ns in (asked.start_ns, asked.step_ns, counting.range_ns)
    )
    labels = {matcher.label for matcher in selection.matchers}
    return (
        on_minutes
        and counting.by is not None
        and not selection.filters
        and labels <= _PULSED
        and set(counting.by) <= _PULSED - {"attempt"}
        and _buckets(counting, asked)[1] <= MAX_BUCKETS
    )


def _buckets(counting: Counting, asked: Asked) -> tuple[int, int]:
    """(ns, number) of the widest buckets whose edges meet those of all windows."""
    width_ns = math.gcd(asked.step_ns, counting.range_ns)
    first_ns = asked.start_ns - counting.range_ns
    return width_ns, max(1, -(-(asked.end_ns - first_ns) // width_ns))


def count_minutes(counting: Counting, asked: Asked) -> Iterator[tuple[Labels, NDArray[np.int64]]]:
    """(labels, lines of each of _buckets() from range_ns before the first step on), by node and
    level."""
    width_ns, buckets = _buckets(counting, asked)
    first_ns = asked.start_ns - counting.range_ns
    attempt = _one_whole(counting.selection.on("attempt"))
    for run in runs_of(counting.selection, Found()):
        last_ns = first_ns + buckets * width_ns - 1
        pulse = search.pulse(run.id, attempt, first_ns, last_ns, buckets)
        for node, counts in pulse.nodes.items():
            for column, severity in enumerate(pulse.severities):
                level = _NAMES[Severity(severity)]
                labels = _of_run(run) | {"node": node, "level": level}
                labels |= {} if attempt is None else {"attempt": str(attempt)}
                if counting.selection.matches(labels, ""):
                    yield _kept(tuple(labels.items()), counting.by), counts[:, column]


def _kept(labels: Labels, by: tuple[str, ...] | None) -> Labels:
    if by is None:
        return labels
    return tuple((name, value) for name, value in labels if name in by and value)


def _of_run(run: RunInfo) -> dict[str, str]:
    return {"run": run.key, "project": run.project}


def labels_of(run: RunInfo, entry: LogEntry) -> Labels:
    """The labels of the stream that a line belongs to; what is not known is left out."""
    labels = {
        **_of_run(run),
        "attempt": str(entry.attempt),
        "node": entry.node or "",
        "rank": "" if entry.rank is None else str(entry.rank),
        "source": entry.source,
        "channel": entry.channel,
        "level": _NAMES[Severity(entry.severity)],
    }
    return tuple((name, value) for name, value in labels.items() if value)


def _lines(
    run: RunInfo, selection: Selection, asked: Asked, until: tuple[Found, float]
) -> Iterator[tuple[Labels, LogEntry]]:
    """All selected lines of one run, a page at a time, until the time is over."""
    found, end_s = until
    query, rest = narrowed(run.id, selection, asked)
    while query is not None:
        page = search.page(query)
        for entry in page.lines:
            labels = labels_of(run, entry)
            if rest.matches(dict(labels), entry.text):
                yield labels, entry
        if page.next_cursor is None:
            return
        if time.monotonic() > end_s:
            found.warnings.append(f"{run.key}: stopped after {MAX_S:.0f} s: narrow it down")
            return
        query = replace(query, after_cursor=page.next_cursor)


def narrowed(run_id: int, selection: Selection, asked: Asked) -> tuple[LogQuery | None, Selection]:
    """What the store can look for, and the conditions that are left. None: no line fulfils it."""
    levels = [
        severity
        for name, severity in LEVELS.items()
        if all(matcher.matches(name) for matcher in selection.on("level"))
    ]
    if not levels:
        return None, selection
    words = [f.values[0] for f in selection.filters if f.op == "|=" and len(f.values) == 1]
    without = [value for f in selection.filters if f.op == "!=" for value in f.values]
    patterns = [f for f in selection.filters if f.op == "|~" and len(f.values) == 1]
    ranks = _alternatives(selection.on("rank"))
    query = LogQuery(
        run_id,
        attempt=_one_whole(selection.on("attempt")),
        ranks=tuple(rank for text in ranks if (rank := whole(text, 2**31 - 1)) is not None),
        nodes=_alternatives(selection.on("node")),
        min_severity=min(levels),
        max_severity=max(levels),
        words=tuple(word for word in words if word),
        without=tuple(without),
        regex=patterns[0].values[0] if patterns else "",
        from_ns=asked.start_ns,
        to_ns=asked.end_ns - 1,
        limit=PAGE,
        newest_first=asked.newest_first,
    )
    return query, Selection(selection.matchers, _left(selection.filters, patterns[:1]))


def _left(filters: tuple[LineFilter, ...], taken: list[LineFilter]) -> tuple[LineFilter, ...]:
    """Filters that the store does not apply."""
    return tuple(
        f
        for f in filters
        if f not in taken and not (f.op == "!=" or (f.op == "|=" and len(f.values) == 1))
    )


def _one_whole(matchers: tuple[Matcher, ...]) -> int | None:
    numbers = [whole(matcher.value, 2**31 - 1) for matcher in matchers if matcher.op == "="]
    return next((number for number in numbers if number is not None), None)


def _alternatives(matchers: tuple[Matcher, ...]) -> tuple[str, ...]:
    """The values of `="a"` or `=~"a|b"`; () if any other value may fit."""
    for matcher in matchers:
        if matcher.op == "=" and matcher.value:
            return (matcher.value,)
        if matcher.op == "=~" and _ALTERNATIVES.fullmatch(matcher.value):
            return tuple(matcher.value.split("|"))
    return ()


def sampled(
    times: Mapping[Labels, list[int]], counting: Counting, asked: Asked
) -> Iterator[tuple[Labels, NDArray[np.int64], NDArray[np.float64]]]:
    """(labels, steps ns, values) of counted lines: at step t those in (t - range_ns, t]."""
    steps = np.arange(asked.start_ns, asked.end_ns + 1, asked.step_ns, dtype=np.int64)
    for labels, found in times.items():
        ordered = np.sort(np.array(found, dtype=np.int64))
        upto = np.searchsorted(ordered, steps, side="right")
        before = np.searchsorted(ordered, steps - counting.range_ns, side="right")
        yield labels, steps, _scaled(upto - before, counting)


def summed(
    counted: Iterator[tuple[Labels, NDArray[np.int64]]], counting: Counting, asked: Asked
) -> Iterator[tuple[Labels, NDArray[np.int64], NDArray[np.float64]]]:
    """The same from the counts of count_minutes()."""
    steps = np.arange(asked.start_ns, asked.end_ns + 1, asked.step_ns, dtype=np.int64)
    width_ns, buckets = _buckets(counting, asked)
    begins = np.minimum((steps - asked.start_ns) // width_ns, buckets)
    ends = np.minimum(begins + counting.range_ns // width_ns, buckets)
    totals: dict[Labels, NDArray[np.int64]] = {}
    for labels, counts in counted:
        totals[labels] = totals.get(labels, 0) + counts
    for labels, counts in totals.items():
        upto = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
        yield labels, steps, _scaled(upto[ends] - upto[begins], counting)


def _scaled(counts: NDArray[np.int64], counting: Counting) -> NDArray[np.float64]:
    return counts / (counting.range_ns / 1e9) if counting.rate else counts.astype(np.float64)
