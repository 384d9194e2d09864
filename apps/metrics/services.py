"""What is done with metrics: detect and compact. What moved around an incident: `moved`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from django.db import transaction

from apps.core.errors import AppError
from apps.core.records import Finding
from apps.metrics import policies, ranksignals, siblings, store, trends, watching
from apps.metrics.domain import rank_outlier
from apps.metrics.domain.planned import PlannedChange
from apps.metrics.domain.rank_outlier import RankPolicy, RankState
from apps.metrics.domain.rank_state import RankCase
from apps.metrics.domain.reports import LATE, MOVED, RENAMED, taken_back
from apps.metrics.domain.roles import FROM_LOG
from apps.metrics.domain.rows import train_rows
from apps.metrics.domain.spike_policy import SpikePolicy
from apps.metrics.domain.spikes import SpikeDetector
from apps.metrics.domain.train_row import TrainRow
from apps.metrics.look import Look
from apps.metrics.naming import Known
from apps.metrics.store.detectors import DetectorState
from apps.runs import store as runs
from apps.runs.records import AttemptInfo

SPIKES = "spikes"
RANKS = "rank_outlier"
SEED_STEPS = 4_000
"""How far before its first row a detector reads to know what is normal: 400 rows of a log with one
row per ten steps."""
MAX_ROUNDS = 1_000
T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a loss is judged by: thresholds, and the changes that somebody planned."""

    policy: SpikePolicy
    planned: tuple[PlannedChange, ...] = ()


def detect(run_id: int, attempt: int, now_ns: int) -> list[Finding]:
    """Findings that opened, grew or closed since the last call.

    Call it inside the transaction that stores them: state, cursor and findings then commit or
    vanish together, and a repeat continues where the last commit ended. Keys are unique in the run;
    the same key again is the newer state. `now_ns` is not used by these detectors: they follow
    steps, not clocks.

    Cost: two statements without new rows, fifteen more with rows of the job, five of them for
    statistics of layers, up to fifteen more with lines of ranks, however many keys, steps and ranks
    there are; two more before the first row of each detector. 1.4 ms without news; about 30 us a
    new row, 0.4 ms a new logged step of the ranks (0.2 us a value with 1,024 of them), 1 us a value
    of a layer. Rows that come late, and the first ones of an attempt, cost SEED_STEPS rows more.
    """
    del now_ns
    with transaction.atomic():
        known = store.lock_detector(run_id, attempt, SPIKES)
        fresh = store.take_fresh(run_id, attempt)
        found: list[Finding] = []
        look = Look(run_id, attempt)
        if fresh.job_from is not None:
            found += _spikes(look, known, fresh.job_from)
            found += watching.watch(look, fresh.job_from)
            found += siblings.judge(look)
        if fresh.ranks is not None:
            found += _rank_outliers(look, *fresh.ranks)
            found += ranksignals.watch(look, *fresh.ranks)
        if fresh.layers is not None:
            found += trends.watch(look, fresh.layers)
    return found


def compact(run_id: int, *, everything: bool = False) -> int:
    """Moves the hot blocks of a run into cold ones, one transaction a batch; how many it was.

    everything: also when few are there.

    Idempotent, and safe to kill: a reader sees every point exactly once at any moment. A batch has
    at most 8,192 rows or 2 million points; five statements each, whatever the number of keys.
    """
    total = 0
    for _ in range(MAX_ROUNDS):
        with transaction.atomic():
            moved = store.compact_once(run_id, everything=everything)
        if not moved:
            break
        total += moved
    return total


def compact_due(limit: int = 100) -> int:
    """Compacts every run that is due; how many hot blocks were moved. For the periodic task.

    A run whose blocks cannot be read is logged and keeps no other from its compaction.
    """
    moved = 0
    for run_id in store.runs_to_compact(limit):
        try:
            moved += compact(run_id)
        except AppError as error:
            log.error("metrics.compact_failed", extra={"run": run_id, "reason": str(error)})
    return moved


def _loaded(load: Callable[[bytes], T], known: DetectorState) -> T | None:
    """The stored state; None if there is none, or if an older program wrote it: a detector begins
    anew from the stored points rather than standing still until somebody deletes a row."""
    try:
        return load(known.state) if known.state else None
    except AppError as error:
        log.warning("metrics.detector_state_refused", extra={"reason": str(error)})
        return None


# -- the loss ---------------------------------------------------------------------------------


def _spikes(look: Look, known: DetectorState, fresh_from: int) -> list[Finding]:
    """Judges the rows from `fresh_from` on.

    Rows that arrive late, below the cursor, would be lost to a causal detector. It is then built
    again from the rows before them and judges everything from there on. Findings keep their keys;
    what is open and is not found again is taken back. The same happens when somebody says that
    another series is the loss, or moves a threshold of the project.
    """
    run_id, attempt = look.run_id, look.attempt
    policy, thresholds = policies.versioned_policy(run_id)
    rules = Rules(policy, look.planned)
    detector = _loaded(lambda data: SpikeDetector.load(data, policy, rules.planned), known)
    names, version = _names(look.names, detector)
    renamed = detector is not None and _differs(detector.state.series, names)
    if "loss" not in names and not renamed:
        return []
    doubtful: list[Finding] = []
    moved = detector is not None and detector.state.thresholds != thresholds
    if detector is None or known.step is None or fresh_from <= known.step or renamed or moved:
        told = [] if detector is None else detector.open_findings()
        doubtful = [f for f in told if renamed or (f.onset_step or 0) >= fresh_from]
        detector = seeded(run_id, attempt, names, fresh_from, rules)
    detector.state.series, detector.state.naming = names, version
    detector.state.thresholds = thresholds
    rows = rows_of(run_id, attempt, names, fresh_from, None) if "loss" in names else []
    findings = detector.feed(rows)
    if rows or renamed:
        standing = {f.key for f in (*findings, *detector.open_findings())}
        why = RENAMED if renamed else MOVED if moved else LATE
        newest = (rows[-1].step, rows[-1].time_ns) if rows else None
        findings += [taken_back(f, newest, why) for f in doubtful if f.key not in standing]
    state = DetectorState(detector.state.step, detector.dump())
    store.save_detector(run_id, attempt, SPIKES, state)
    return findings


def _names(known: Known, detector: SpikeDetector | None) -> tuple[dict[str, str], int]:
    """role -> series, and the version of what was said about them.

    What was guessed once stays, until somebody says something about the names of the project, or a
    real series takes the place of one read from log lines; roles that appear later are added.
    """
    said, keys = known.naming, known.keys
    names: dict[str, str | None] = {**said.apply(keys).by_role()}
    if detector is not None and detector.state.naming == said.version:
        chosen = detector.state.series.items()
        names |= {r: name for r, name in chosen if not (name.startswith(FROM_LOG) and r in names)}
    names |= said.fixed(keys)
    return {role: name for role, name in names.items() if name}, said.version


def _differs(before: dict[str, str], names: dict[str, str]) -> bool:
    """Whether a role has another series than before, or none."""
    return any(names.get(role) != name for role, name in before.items())


def seeded(
    run_id: int, attempt: int, names: dict[str, str], before: int, rules: Rules
) -> SpikeDetector:
    """A detector that knows the attempts this one came from, and its own rows before a step."""
    detector = SpikeDetector(policy=rules.policy, planned=rules.planned)
    lineage = {info.number: info for info in runs.attempts(run_id)}
    own = lineage.get(attempt)
    first = before if own is None or own.first_step is None else min(own.first_step, before)
    detector.feed(_parent_rows(run_id, names, lineage, (attempt, first)))
    detector.start_attempt(attempt, names)
    detector.feed(rows_of(run_id, attempt, names, before - SEED_STEPS, before - 1))
    return detector


def _parent_rows(
    run_id: int, names: dict[str, str], lineage: dict[int, AttemptInfo], child: tuple[int, int]
) -> list[TrainRow]:
    """Rows before the child's first step, along its line of parents. child: (number, step)."""
    number, before = child
    found: list[TrainRow] = []
    for _ in range(len(lineage)):
        own = lineage.get(number)
        if own is None or own.parent is None:
            break
        number = own.parent
        found = rows_of(run_id, number, names, child[1] - SEED_STEPS, before - 1) + found
        before = min(before, found[0].step if found else before)
    return found


def rows_of(
    run_id: int, attempt: int, names: dict[str, str], first: int, last: int | None
) -> list[TrainRow]:
    """The rows a detector reads, from the first step to the last one, both included."""
    return train_rows(store.read_rows(run_id, attempt, list(names.values()), first, last), names)


# -- ranks ------------------------------------------------------------------------------------


def _rank_outliers(look: Look, first: int, last: int | None) -> list[Finding]:
    """Judges the logged steps with news, again where late ranks have arrived.

    Only these: a host that is far behind would else have every step after its own read each time.
    When another series has become the loss of the ranks, what the old one said is taken back.
    """
    run_id, attempt = look.run_id, look.attempt
    known = store.lock_detector(run_id, attempt, RANKS)
    series = look.names.naming.apply((), look.names.rank_keys).rank_loss
    state = _loaded(rank_outlier.load, known) or RankState()
    found: list[Finding] = []
    if state.series and state.series != series:
        found = rank_outlier.abandoned(state, attempt)
        state = RankState()
        store.save_detector(run_id, attempt, RANKS, DetectorState(None, rank_outlier.dump(state)))
    points = store.read_rank_rows(run_id, attempt, series, first, last) if series else None
    if points is None or series is None:
        return found
    state.series = series
    case = RankCase(attempt, series, runs.rank_count(run_id, attempt))
    judged = rank_outlier.judge(state, points, case, RankPolicy())
    newest = DetectorState(int(points.step[-1]), rank_outlier.dump(state))
    store.save_detector(run_id, attempt, RANKS, newest)
    standing = {finding.key for finding in judged}
    return [finding for finding in found if finding.key not in standing] + judged
