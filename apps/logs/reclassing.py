"""Stored lines get the newest fault classes, a slice at a time.

A project may change its classes while an attempt has 200,000 errors. To read all of them in the
transaction that judges the attempt would keep its lines waiting for minutes; so the verdict goes by
the old classes until the lines have the new ones.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from apps.core.queue import Job, enqueue
from apps.logs.domain.triage.assemble import EventRow
from apps.logs.domain.triage.classify import Taxonomy
from apps.logs.store import faultclasses
from apps.logs.store import reclassing as store
from apps.logs.store.reclassing import OldLine, Work

AT_ONCE = 5_000
"""Lines that a verdict classifies itself: a tenth of a second with the built-in classes."""
SLICE = 2_000
MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Slice:
    """What was done of an attempt. through: all its lines have the newest classes."""

    run_id: int
    attempt: int
    through: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """An attempt whose lines do not all have the newest classes. total: None before it begins."""

    run: str
    attempt: int
    done: int
    total: int | None


def put_off(run_id: int, attempt: int, rows: Sequence[EventRow], classes: Taxonomy) -> bool:
    """Whether so many lines have other classes that they are classified aside; asks for that."""
    others = sum(row.taxonomy != classes.label for row in rows)
    if others <= AT_ONCE:
        return False
    since_ns = min(row.time_ns for row in rows)
    if store.ask_reclassing(run_id, attempt, classes.label, since_ns):
        enqueue(Job.LOGS_RECLASS)
    return True


def take_slice(until_s: float) -> Slice | None:
    """Classifies some lines of an attempt that waits for it, until `until_s` of the monotonic clock
    at the latest, one line at least; None if nothing waits. In the caller's transaction."""
    work = store.take_reclassing()
    if work is None:
        return None
    classes = faultclasses.taxonomy_of_run(work.run_id)
    if work.taxonomy != classes.label:
        work = work.again(classes.label)
    if work.total is None:
        work = replace(work, total=store.count_others(work))
    lines = store.other_lines(work, SLICE)
    faults = _classify(lines, classes, until_s)
    store.give_classes(work, lines[: len(faults)], faults)
    if len(faults) == len(lines) < SLICE:
        store.end_reclassing(work)
        return Slice(work.run_id, work.attempt, through=True)
    store.save_reclassing(_behind(work, lines[len(faults) - 1], len(faults)))
    return Slice(work.run_id, work.attempt, through=False)


def _classify(lines: Sequence[OldLine], classes: Taxonomy, until_s: float) -> list[str | None]:
    """Of as many lines as there is time for: a pattern of a project may take milliseconds."""
    found: list[str | None] = []
    for line in lines:
        if found and time.monotonic() > until_s:
            break
        fault = classes.classify(line.message)
        found.append(None if fault is None else fault.id)
    return found


def _behind(work: Work, line: OldLine, count: int) -> Work:
    return replace(
        work,
        time_ns=line.time_ns,
        source_id=line.source_id,
        seq=line.seq,
        done=work.done + count,
    )


def waiting(project: str) -> list[Waiting]:
    """Attempts of a project that are not through, the newest first."""
    return [Waiting(*row) for row in store.reclassings(project, MAX_SHOWN)]
