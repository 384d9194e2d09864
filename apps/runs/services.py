"""Starts, restarts and progress of runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from apps.core.errors import AppError
from apps.core.records import MetricRow
from apps.runs import store
from apps.runs.domain.attempts import place_launch, split_restarts
from apps.runs.records import AttemptInfo, LaunchSeen

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def check_key(key: str) -> str:
    """The run key, or an error that says what a key may look like."""
    if not _KEY.fullmatch(key):
        raise AppError(
            f'"{key[:140]}" is not a run key',
            where="run key",
            hint="1-128 letters, digits, dots, underscores, dashes; not a mark first",
        )
    return key


def register_launch(key: str, launch: LaunchSeen) -> int:
    """The attempt number of this start; the same start always gets the same number."""
    run_id = store.ensure_run(check_key(key))
    with transaction.atomic():
        store.lock_run(run_id)
        known = store.launch_attempt(run_id, launch)
        if known is not None:
            return known
        joined = place_launch(launch, store.attempts(run_id), store.starts(run_id, launch.slot))
        if joined.new:
            store.open_attempt(run_id, joined.number, launch.started_ns)
        store.add_launch(run_id, joined.number, launch)
        return joined.number


def settle_attempt(run_id: int, number: int | None, at_ns: int) -> AttemptInfo:
    """The attempt that a batch sent for attempt `number` (None: the newest) belongs to.

    at_ns: when the batch begins. Processes that went back to a lower step by themselves go on
    under their old number: their batches belong to the attempt that this opened, unless they are
    older than it (several writers may overtake each other). An attempt that nobody announced is
    opened. Runs in the caller's transaction and holds the run's row from here on.
    """
    store.lock_run(run_id)
    found = store.attempt(run_id, number)
    if found is None:
        return store.open_attempt(run_id, number or 0, at_ns)
    while found.continued_by is not None:
        heir = store.attempt(run_id, found.continued_by)
        if heir is None or at_ns < heir.started_ns:
            break
        found = heir
    return found


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Rows and the attempt they belong to. late: rows that came behind their time."""

    attempt: int
    rows: tuple[MetricRow, ...]
    late: int


def place_rows(run_id: int, number: int | None, rows: Sequence[MetricRow]) -> list[PlacedRows]:
    """The rows with their attempts; a restart at a lower step opens a new one.

    rows: at least one. Runs in the caller's transaction and holds the run's row.
    """
    info = settle_attempt(run_id, number, rows[0].time_ns)
    placed = []
    for stretch in split_restarts(rows, info.last_step, info.last_row_ns):
        if stretch.restart:
            info = _continuation(info, stretch.rows[0].time_ns)
        placed.append(PlacedRows(info.number, stretch.rows, stretch.late))
    return placed


def _continuation(info: AttemptInfo, at_ns: int) -> AttemptInfo:
    """The attempt that the processes of `info` go on with from at_ns.

    It exists if a later batch of theirs was written first; then it began earlier than it seemed.
    """
    if info.continued_by is not None:
        store.begin_earlier(info.run_id, info.continued_by, at_ns)
        heir = store.attempt(info.run_id, info.continued_by)
        if heir is not None:
            return heir
    newest = store.attempt(info.run_id, None)
    number = (newest.number if newest else info.number) + 1
    heir = store.open_attempt(info.run_id, number, at_ns, parent=info.number)
    store.continue_as(info.run_id, info.number, number)
    return heir
