"""Stored runs judged again, in memory, by thresholds that are only tried."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.core.records import Finding
from apps.metrics import store
from apps.metrics.domain.spike_policy import SpikePolicy
from apps.metrics.domain.spikes import SpikeDetector
from apps.metrics.domain.thresholds import checked, policy_with
from apps.metrics.domain.train_row import TrainRow
from apps.metrics.domain.whatif import Change, compare, episodes
from apps.metrics.planned import planned_of
from apps.metrics.services import Rules, rows_of, seeded
from apps.runs import store as runs
from apps.runs.records import AttemptInfo, RunInfo

DAYS = 7
MAX_RUNS = 50
MAX_ROWS = 300_000
BUDGET_S = 8.0
CHUNK_ROWS = 5_000
_DAY_NS = 86_400_000_000_000


@dataclass(slots=True)
class Replay:
    """What was judged, and what both sets of thresholds page in it.

    attempts: those with rows in the last days; done: of these, judged to their end. rows: logged
    rows that were judged. cut: attempts that are so long that only their last MAX_ROWS steps were.
    stopped: why not everything was, "" if it was.
    """

    since_ns: int
    attempts: int = 0
    done: int = 0
    rows: int = 0
    cut: int = 0
    stopped: str = ""
    changes: list[Change] = field(default_factory=list)

    def count(self, how: str) -> int:
        """How many episodes were gained, lost or the same."""
        return sum(change.how == how for change in self.changes)


def replay(project: str, values: Mapping[str, float], now_ns: int) -> Replay:
    """The last DAYS days of a project by its present thresholds and by others, side by side.

    AppError for a value out of its range. Newest runs first, at most MAX_RUNS runs, MAX_ROWS rows
    and about BUDGET_S seconds: `stopped` says when that was not enough. Nothing is stored. About
    35 microseconds a row.
    """
    tried = policy_with(checked(values))
    present = policy_with(store.thresholds_of(project).values)
    found = Replay(since_ns=now_ns - DAYS * _DAY_NS)
    end_s = time.monotonic() + BUDGET_S
    work = [
        (run, attempt)
        for run in runs.newest_runs(project, MAX_RUNS)
        for attempt in reversed(runs.attempts(run.id))
        if attempt.last_step is not None and _last_ns(attempt) >= found.since_ns
    ]
    found.attempts = len(work)
    for run, attempt in work:
        judge = _Judge(run, attempt, found)
        judge.feed((present, tried), end_s)
        if found.stopped:
            break
        found.done += 1
    found.changes.sort(key=lambda change: -change.fired.onset_time_ns)
    return found


@dataclass(frozen=True, slots=True)
class _Judge:
    """One attempt that is judged twice."""

    run: RunInfo
    attempt: AttemptInfo
    found: Replay

    def feed(self, both: tuple[SpikePolicy, SpikePolicy], end_s: float) -> None:
        """Feeds its rows to two detectors, and adds what differs."""
        run_id, number = self.run.id, self.attempt.number
        roles = store.naming_of_run(run_id).apply(store.key_names(run_id, ranked=False)).by_role()
        if "loss" not in roles:
            return
        first = self._first_step()
        planned = planned_of(run_id)
        detectors = [
            seeded(run_id, number, roles, first, Rules(policy, planned)) for policy in both
        ]
        rows = rows_of(run_id, number, roles, first, None)
        seen: list[dict[str, Finding]] = [{}, {}]
        for start in range(0, len(rows), CHUNK_ROWS):
            if self._stop(end_s):
                break
            self._take(detectors, rows[start : start + CHUNK_ROWS], seen)
        before, after = (episodes(run_id, number, one.values()) for one in seen)
        self.found.changes += compare(before, after)

    def _first_step(self) -> int:
        """About the first step since the days began; at least MAX_ROWS steps before the last."""
        own = self.attempt
        first, last = own.first_step or 0, own.last_step or 0
        span_ns = max(1, _last_ns(own) - own.started_ns)
        share = max(0.0, (self.found.since_ns - own.started_ns) / span_ns)
        wanted = first + int(share * (last - first))
        self.found.cut += wanted <= last - MAX_ROWS
        return max(wanted, last - MAX_ROWS + 1)

    def _stop(self, end_s: float) -> bool:
        if self.found.rows >= MAX_ROWS:
            self.found.stopped = f"stopped after {self.found.rows:,} rows"
        elif time.monotonic() > end_s:
            self.found.stopped = f"stopped after {BUDGET_S:.0f} seconds"
        return bool(self.found.stopped)

    def _take(
        self, detectors: list[SpikeDetector], rows: list[TrainRow], seen: list[dict[str, Finding]]
    ) -> None:
        self.found.rows += len(rows)
        for detector, told in zip(detectors, seen, strict=True):
            told |= {finding.key: finding for finding in detector.feed(rows)}


def _last_ns(attempt: AttemptInfo) -> int:
    """When it last logged a row, as far as that is known."""
    return attempt.last_row_ns or attempt.last_ns or attempt.started_ns
