"""What attempts say to have loaded."""

from __future__ import annotations

from collections.abc import Iterable

from apps.rollbacks.domain.arrival import Loaded
from apps.rollbacks.models import LoadedCheckpoints

MAX_LOADS = 20
"""Kept of an attempt: a training loads once, and whatever loads more is no start."""


def add(run_id: int, attempt: int, loads: Iterable[Loaded]) -> None:
    """Keeps what is new, in the caller's transaction, which holds the run's row."""
    said = list(dict.fromkeys(loads))
    known = of(run_id, attempt) if said else []
    kept = list(dict.fromkeys([*known, *said]))[:MAX_LOADS]
    if len(kept) > len(known):
        LoadedCheckpoints.objects.update_or_create(
            run_id=run_id,
            attempt=attempt,
            defaults={"loads": [[one.step, one.path] for one in kept]},
        )


def of(run_id: int, attempt: int) -> list[Loaded]:
    """In the order in which they were said. -- uses the primary key"""
    rows = LoadedCheckpoints.objects.filter(run_id=run_id, attempt=attempt)
    loads = rows.values_list("loads", flat=True).first() or []
    return [Loaded(step, path) for step, path in loads]
