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
from apps.runs.records import LaunchSeen

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
    with transaction.atomic():
        run_id = store.ensure_run(check_key(key))
        store.lock_run(run_id)
        known = store.launches(run_id)
        for slot, name, attempt in known:
            if (slot, name) == (launch.slot, launch.launch):
                return attempt
        taken = frozenset((attempt, slot) for slot, _, attempt in known)
        joined = place_launch(launch, store.attempts(run_id), taken)
        if joined.new:
            store.open_attempt(run_id, joined.number, launch.started_ns)
        store.add_launch(run_id, joined.number, launch)
        return joined.number


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Rows and the attempt they belong to. late: rows that came behind their time."""

    attempt: int
    rows: tuple[MetricRow, ...]
    late: int


def place_rows(run_id: int, attempt: int | None, rows: Sequence[MetricRow]) -> list[PlacedRows]:
    """The rows with their attempts; a restart at a lower step opens a new one.

    Runs in the caller's transaction and holds the run's row.
    """
    store.lock_run(run_id)
    number = store.current_attempt(run_id, attempt)
    known = {info.number: info for info in store.attempts(run_id)}
    if number is None or number not in known:
        number = number or 0
        store.open_attempt(run_id, number, rows[0].time_ns if rows else 0)
    info = known.get(number)
    last = (info.last_step, info.last_row_ns) if info else (None, None)
    stretches = split_restarts(rows, *last)
    placed = []
    for stretch in stretches:
        if stretch.restart:
            successor = max(known, default=number) + 1
            store.open_attempt(run_id, successor, stretch.rows[0].time_ns)
            store.continue_as(run_id, number, successor)
            known[successor] = store.attempts(run_id)[-1]
            number = successor
        placed.append(PlacedRows(number, stretch.rows, stretch.late))
    return placed
