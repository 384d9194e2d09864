"""The attempts of a run side by side: what became of each, and where two of them part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.dashboard import series
from apps.dashboard.lineage import kept_until
from apps.metrics import store as metrics
from apps.metrics.domain.comparison import Comparison, Floats, Ints, compare
from apps.runs import hosts_store
from apps.runs import store as runs
from apps.runs.domain.moves import Moves, moves
from apps.runs.records import AttemptInfo, RunInfo

MAX_PLACED = 10
"""Attempts whose hosts are compared: each rank of each of them is read."""
MAX_STEPS = 500_000
"""Steps of a comparison. At a row a step it reads about 10 million points a second."""


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One line of the table. kept: steps [first, kept) are part of the newest attempt's history;
    None: all of them are. given_up_steps: logged, but no longer part of it."""

    info: AttemptInfo
    kept: int | None
    given_up_steps: int

    @property
    def abandoned(self) -> bool:
        """Whether nothing of it counts any more."""
        return self.kept == 0

    @property
    def last_kept(self) -> int | None:
        """The last step of it that counts, if it was cut."""
        return None if self.kept is None else self.kept - 1


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two attempts compared by one series. cut: only its first MAX_STEPS common steps were read."""

    key: str
    a: int
    b: int
    found: Comparison
    cut: bool


def rows(attempts: Sequence[AttemptInfo]) -> list[AttemptRow]:
    """Newest first."""
    kept = kept_until(attempts)
    return [AttemptRow(a, kept[a.number], _given_up(a, kept[a.number])) for a in reversed(attempts)]


def _given_up(attempt: AttemptInfo, kept: int | None) -> int:
    if kept is None or attempt.first_step is None or attempt.last_step is None:
        return 0
    return max(0, attempt.last_step + 1 - max(kept, attempt.first_step))


@dataclass(frozen=True, slots=True)
class Placed:
    """On how many hosts an attempt runs. moves: from the attempt before it that says where it ran,
    `against`; None for the first of them."""

    hosts: int
    against: int | None
    moves: Moves | None


def placed(run_id: int, attempts: Sequence[AttemptInfo]) -> dict[int, Placed]:
    """attempt -> where it runs, and who replaced whom since the one before; of the newest
    MAX_PLACED that say where they run. attempts: oldest first. One statement."""
    asked = [info.number for info in attempts[-MAX_PLACED:]]
    found = hosts_store.ranks_by_host(run_id, asked)
    told: dict[int, Placed] = {}
    before: int | None = None
    for number in (number for number in asked if number in found):
        change = None if before is None else moves(found[before], found[number])
        told[number] = Placed(len(found[number]), before, change)
        before = number
    return told


def pairing(run: RunInfo, a: int, b: int) -> Pairing | None:
    """The loss of two attempts at the steps both have; None where there is no loss to compare."""
    key = series.shown(run.id).loss
    known = {info.number: info for info in runs.attempts(run.id)}
    if key is None or a not in known or b not in known:
        return None
    both = [known[a], known[b]]
    if any(info.first_step is None or info.last_step is None for info in both):
        return None
    first = max(info.first_step or 0 for info in both)
    last = min(info.last_step or 0 for info in both)
    span = first, min(last, first + MAX_STEPS - 1)
    left, right = (_curve(run.id, number, key, span) for number in (a, b))
    return Pairing(key, a, b, compare(left, right), cut=span[1] < last)


def _curve(run_id: int, attempt: int, key: str, span: tuple[int, int]) -> tuple[Ints, Floats]:
    found = metrics.read_rows(run_id, attempt, [key], *span).get(key)
    if found is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float64)
    step, _, value = found
    return step, value
