"""Starts, restarts and progress of runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.core.records import MetricRow
from apps.runs import contact_store, store
from apps.runs.domain.attempts import place_launch, split_restarts
from apps.runs.records import AttemptInfo, LaunchSeen

MAX_RESTARTS = 16
"""In one body: each opens an attempt, and each attempt is analysed."""
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
        contact_store.note_start(run_id, now_ns())
        known = store.launch_attempt(run_id, launch)
        if known is not None:
            return known
        joined = place_launch(launch, store.attempts(run_id), store.starts(run_id, launch.slot))
        if joined.new:
            _open(run_id, joined.number, launch.started_ns)
        store.add_launch(run_id, joined.number, launch)
        return joined.number


def _open(run_id: int, number: int, at_ns: int, parent: int | None = None) -> AttemptInfo:
    """A further attempt; AppError beyond the last that a run may have."""
    if number >= store.MAX_ATTEMPTS:
        raise AppError(
            f"the run has {store.MAX_ATTEMPTS} attempts already, more are not kept",
            where="attempt",
            hint="send under another run key",
        )
    return store.open_attempt(run_id, number, at_ns, parent=parent)


def settle_attempt(run_id: int, number: int | None, at_ns: int) -> AttemptInfo:
    """The attempt that a batch sent for attempt `number` (None: the newest) belongs to.

    at_ns: when the batch begins. Processes that went back to a lower step by themselves go on
    under their old number: their batches belong to the attempt that this opened, unless they are
    older than it (several writers may overtake each other). A run whose start nobody announced
    begins with attempt 0; AppError for any other attempt that was not announced. Runs in the
    caller's transaction and holds the run's row from here on.
    """
    store.lock_run(run_id)
    found = store.attempt(run_id, number)
    if found is None and number:
        raise AppError(
            f"attempt {number} of this run was not announced",
            where="attempt",
            hint="POST .../launches gives the number of a start; null means the newest attempt",
        )
    if found is None:
        return store.open_attempt(run_id, 0, at_ns)
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
    rows: Sequence[MetricRow]
    late: int


def place_rows(run_id: int, number: int | None, rows: Sequence[MetricRow]) -> list[PlacedRows]:
    """The rows with their attempts; a restart at a lower step opens a new one.

    rows: at least one. AppError for more than MAX_RESTARTS restarts or too many attempts. Runs in
    the caller's transaction and holds the run's row.
    """
    info = settle_attempt(run_id, number, rows[0].time_ns)
    stretches = split_restarts(rows, info.last_step, info.last_row_ns)
    if sum(stretch.restart for stretch in stretches) > MAX_RESTARTS:
        raise AppError(
            f"goes back to a lower step more than {MAX_RESTARTS} times", where="rows[].step"
        )
    placed = []
    for stretch in stretches:
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
    heir = _open(info.run_id, number, at_ns, parent=info.number)
    store.continue_as(info.run_id, info.number, number)
    return heir
