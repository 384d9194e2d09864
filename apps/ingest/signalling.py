"""Patterns for numbers that ranks log: applied to lines, changed by people, tried out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.core.errors import AppError
from apps.core.records import MetricRow
from apps.logs import search
from apps.logs.domain.reading.columns import NO_RANK, NO_STEP, LineColumns
from apps.logs.domain.reading.segments import CONSOLE, ParsedSegment
from apps.logs.records import LogQuery
from apps.metrics import store
from apps.metrics.domain.rank_signals import signal_of
from apps.metrics.domain.signal_patterns import SignalPattern, SignalRules, rules_of
from apps.runs import store as runs

CACHE_S = 15.0
"""How long a changed pattern takes to reach every process."""
MAX_CACHED = 10_000
TRIED_RUNS = 3
TRIED_LINES = 500
SHOWN_LINES = 30
_rules: dict[int, tuple[float, SignalRules]] = {}


class Overtaken(AppError):
    """Somebody else changed the patterns in between."""

    status = 409


@dataclass(frozen=True, slots=True)
class Tried:
    """A recent line and what the patterns read in it. step: None if nothing says one."""

    run: str
    rank: int
    text: str
    step: int | None
    values: dict[str, float]


def rules_of_run(run_id: int) -> SignalRules:
    """The patterns of the run's project, remembered for CACHE_S seconds."""
    now = time.monotonic()
    hit = _rules.get(run_id)
    if hit is not None and hit[0] > now:
        return hit[1]
    found = store.signal_rules_of_run(run_id)
    if len(_rules) >= MAX_CACHED:
        _rules.clear()
    _rules[run_id] = (now + CACHE_S, found)
    return found


def with_signals(
    parsed: Sequence[ParsedSegment], patterns: Sequence[SignalPattern]
) -> list[ParsedSegment]:
    """The segments with the numbers that these patterns read in the lines of ranks.

    Consoles repeat the files of ranks and are left out. A line costs a search for each pattern
    whose text its segment holds; nothing without patterns.
    """
    return [_with_signals(one, patterns) if patterns else one for one in parsed]


def _with_signals(parsed: ParsedSegment, patterns: Sequence[SignalPattern]) -> ParsedSegment:
    if parsed.meta.channel == CONSOLE:
        return parsed
    lines = LineColumns.of(parsed.lines)
    rows = dict(zip(parsed.metric_lines, parsed.metrics, strict=True))
    ranked = np.flatnonzero(lines.rank != NO_RANK)
    for number, text in zip(ranked.tolist(), lines.several(ranked), strict=True):
        step, values = _read(text, patterns)
        step = int(lines.step[number]) if step is None else step
        if not values or step == NO_STEP:
            continue
        own = rows.get(number)
        known = {} if own is None else dict(own.values)
        rows[number] = MetricRow(
            step, int(lines.time_ns[number]), {**known, **values}, int(lines.rank[number])
        )
    order = sorted(rows)
    return replace(parsed, metrics=[rows[at] for at in order], metric_lines=order)


def _read(text: str, patterns: Sequence[SignalPattern]) -> tuple[int | None, dict[str, float]]:
    """What all patterns read in a line; the first that tells a thing is believed."""
    step: int | None = None
    values: dict[str, float] = {}
    for pattern in patterns:
        told = pattern.read(text)
        if told is not None:
            step = told[0] if step is None else step
            values = {**told[1], **values}
    return step, values


def save(project: str, asked: SignalRules, actor: Actor, now_ns: int) -> SignalRules:
    """Replaces the patterns of a project; what is said now. Needs the scope operate.

    asked.version: the one that was looked at; Overtaken if it is no longer the newest. Lines that
    come from now on are read by them; lines that were stored before are not read again.
    """
    require(actor, "operate")
    fresh = rules_of(asked.patterns, asked.version + 1, now_ns, actor.name)
    with transaction.atomic():
        before = store.signal_rules_of(project)
        if before.version != asked.version or not store.save_signal_rules(project, fresh):
            raise Overtaken(
                f"{before.changed_by or 'somebody'} changed these patterns meanwhile",
                hint="look at them again, then repeat your change",
            )
        audit(
            actor,
            "rank_signals.changed",
            f"project {project or '-'}",
            before={"patterns": list(before.patterns)},
            after={"patterns": list(fresh.patterns)},
        )
    _rules.clear()
    return fresh


def preview(project: str, patterns: Sequence[str]) -> list[Tried]:
    """What these patterns read in the last lines of ranks of the project's newest runs, those with
    numbers first, then those that say a step. AppError for a pattern that is wrong."""
    rules = rules_of(patterns)
    found: list[Tried] = []
    for run in runs.newest_runs(project, TRIED_RUNS):
        page = search.page(LogQuery(run_id=run.id, limit=TRIED_LINES, newest_first=True))
        for entry in page.lines:
            if entry.rank is None:
                continue
            step, values = _read(entry.text, rules.parsed)
            step = entry.step if step is None else step
            found.append(Tried(run.key, entry.rank, entry.text, step, values))
    found.sort(key=lambda one: (not one.values, one.step is None))
    return found[:SHOWN_LINES]


def compared(rules: SignalRules) -> dict[str, str]:
    """series -> how it is compared, of all numbers that the patterns read."""
    names = {name: None for pattern in rules.parsed for name in pattern.series}
    return {name: signal_of(name, rules.meanings).meaning.value for name in names}
