"""Reads from the other apps what the domain of rollbacks decides on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.checkpoints import store as checkpoints
from apps.checkpoints.records import CheckpointInfo
from apps.core.records import Finding, FindingSeverity
from apps.core.words import number
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.metrics import naming
from apps.metrics import store as metrics
from apps.metrics.domain.evaluation import KIND as REGRESSION
from apps.rollbacks import store
from apps.rollbacks.domain.cost import CostBasis
from apps.rollbacks.domain.lineage import Branch, Stretch, contains, past
from apps.rollbacks.domain.ranking import (
    FAILURE,
    Fault,
    Ranking,
    SavedCheckpoint,
    Scene,
    Tried,
    rank,
)
from apps.rollbacks.domain.state import OrderState
from apps.rollbacks.domain.trend import EMPTY, Curve, loss_z
from apps.rollbacks.domain.verdict import DEFAULT_POLICY, Trial, rows_needed
from apps.runs import store as runs
from apps.runs.domain.pace import median_step_s
from apps.runs.records import AttemptInfo

BEFORE_STEPS = 3_000
"""How far back the trend before an incident is read: 150 rows, logged every 20 steps at most."""

HEALTH_SHOWN = 3
MAX_REGRESSIONS = 50
REGRESSIONS_SHOWN = 2
HEALTH_STEPS = 2_000
_SECONDS_ROWS = 200


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged: an incident or an order, and where its attempt was left."""

    run_id: int
    kind: str
    attempt: int
    onset_step: int


def branches(attempts: Sequence[AttemptInfo]) -> list[Branch]:
    """The attempts as branches."""
    return [Branch(a.number, a.parent, a.fork_step) for a in attempts]


def loss_key(run_id: int) -> str | None:
    """The series that is the training loss of the whole job."""
    return naming.roles_of(run_id).loss


def ranking(run_id: int, fault: Fault) -> Ranking:
    """The checkpoints of a run, ranked for a fault."""
    attempts = runs.attempts(run_id)
    known = branches(attempts)
    history = past(known, fault.attempt)
    key = loss_key(run_id)
    saved = [_saved(info) for info in checkpoints.checkpoints(run_id)]
    saved = _with_evaluations(run_id, saved, history)
    cost = _cost(run_id, fault, attempts, key)
    if key is not None:
        saved = _with_health(run_id, key, saved, fault, history)
    return rank(Scene(saved, fault, known, cost))


def fault_of(incident: IncidentInfo, attempts: Sequence[AttemptInfo]) -> Fault:
    """Where a rollback for this incident starts from: the earliest moved signal.

    A failure without a step is dated by the newest step its attempt logged.
    """
    step, time_ns, signal = incident.onset_step, incident.onset_time_ns, ""
    moved = incident.earliest_signal
    if incident.kind == FAILURE:
        newest = {a.number: a.last_step for a in attempts}
        step = newest.get(incident.attempt) if step is None else step
    elif moved is not None and (step is None or moved.step <= step):
        step, time_ns, signal = moved.step, moved.time_ns, moved.named
    tried = _tried(incident, attempts)
    return Fault(incident.kind, incident.attempt, step, time_ns, signal, tried)


def _tried(incident: IncidentInfo, attempts: Sequence[AttemptInfo]) -> tuple[Tried, ...]:
    """The starts after the incident that relapsed: the last one, and those of failed orders."""
    if incident.relapsed_attempt is None:
        return ()
    began = {a.number: a.fork_step for a in attempts if a.number > incident.attempt}
    found: dict[int, Tried] = {}
    last, start = incident.relapsed_attempt, began.get(incident.relapsed_attempt)
    if start is not None:
        found[last] = Tried(last, start, incident.relapsed_step)
    for order in store.orders(incident.run_id):
        ours = order.incident_id == incident.id and order.state is OrderState.FAILED
        if ours and order.resumed_attempt is not None:
            step = incident.relapsed_step if order.resumed_attempt == last else None
            found[order.resumed_attempt] = Tried(order.resumed_attempt, order.step, step)
    return tuple(found.values())


def trial(case: Case, attempts: Sequence[AttemptInfo]) -> Trial | None:
    """The newest attempt on trial; None if it did not leave the faulty one before the onset.

    A failure may also be passed by going on behind it.
    """
    newest = attempts[-1]
    known = branches(attempts)
    chain = past(known, newest.number)
    left = next((s.up_to_step for s in chain if s.attempt == case.attempt), None)
    if newest.number == case.attempt or left is None:
        return None
    if left > case.onset_step and case.kind != FAILURE:
        return None
    found = Trial(case.kind, case.onset_step, EMPTY, EMPTY, reached_step=newest.last_step)
    key = loss_key(case.run_id)
    if key is None:
        return found
    before = _along(case, key, past(known, case.attempt), case.onset_step - BEFORE_STEPS)
    policy = DEFAULT_POLICY
    rows = (policy.patience + 1) * rows_needed(case.kind, policy)
    until = max(case.onset_step, left) + rows * log_interval(before)
    fresh = [s for s in chain if s.attempt > case.attempt]
    return replace(
        found,
        before=before,
        after=join(case.run_id, key, fresh, (left, until)),
        abandoned=join(case.run_id, key, past(known, case.attempt), (left, until)),
    )


def log_interval(rows: Curve) -> int:
    """Steps from one logged row to the next; 1 if unknown."""
    return max(1, int(np.median(np.diff(rows.step)))) if len(rows) > 1 else 1


def curve(run_id: int, key: str, attempt: int, steps: tuple[int, int]) -> Curve:
    """The rows of one attempt in [first, last] of `steps`."""
    return _timed(run_id, key, attempt, steps)[0]


def join(run_id: int, key: str, stretches: Sequence[Stretch], steps: tuple[int, int]) -> Curve:
    """The rows of a chain of attempts (newest first), each up to where the next took over."""
    parts: list[Curve] = []
    for stretch in reversed(stretches):
        last = steps[1] if stretch.up_to_step is None else min(steps[1], stretch.up_to_step - 1)
        if last >= steps[0]:
            parts.append(curve(run_id, key, stretch.attempt, (steps[0], last)))
    if not parts:
        return EMPTY
    step = np.concatenate([part.step for part in parts])
    loss = np.concatenate([part.loss for part in parts])
    unique, last_of = np.unique(step[::-1], return_index=True)
    return Curve(unique, loss[::-1][last_of])


def _along(case: Case, key: str, chain: Sequence[Stretch], first: int) -> Curve:
    return join(case.run_id, key, chain, (max(0, first), case.onset_step - 1))


def _timed(run_id: int, key: str, attempt: int, steps: tuple[int, int]) -> tuple[Curve, list[int]]:
    rows = metrics.read_rows(run_id, attempt, [key], steps[0], steps[1]).get(key)
    if rows is None or not len(rows[0]):
        return EMPTY, []
    step, last_of = np.unique(np.asarray(rows[0])[::-1], return_index=True)
    loss = np.asarray(rows[2], np.float64)[::-1][last_of]
    time_ns = np.asarray(rows[1])[::-1][last_of]
    return Curve(step.astype(np.int64), loss), [int(t) for t in time_ns]


def _saved(info: CheckpointInfo) -> SavedCheckpoint:
    return SavedCheckpoint(
        attempt=info.attempt,
        step=info.step,
        path=info.path,
        saved_at_ns=info.saved_at_ns,
        size_bytes=info.bytes,
        level=info.level,
        complete=info.complete,
        findings=tuple(f"{f.code}: {f.message}" for f in info.findings),
    )


def _cost(run_id: int, fault: Fault, attempts: Sequence[AttemptInfo], key: str | None) -> CostBasis:
    last = next((a.last_step for a in attempts if a.number == fault.attempt), None)
    gpus = runs.rank_count(run_id, fault.attempt) or None
    step_s = None
    if key is not None and last is not None:
        end = last if fault.onset_step is None else min(last, fault.onset_step)
        first = max(0, end - BEFORE_STEPS)
        rows, time_ns = _timed(run_id, key, fault.attempt, (first, end))
        step_s = median_step_s(list(rows.step[-_SECONDS_ROWS:]), time_ns[-_SECONDS_ROWS:])
    return CostBasis(last, step_s, gpus)


def _with_evaluations(
    run_id: int, saved: list[SavedCheckpoint], history: Sequence[Stretch]
) -> list[SavedCheckpoint]:
    """What evaluations that had got worse say against a checkpoint."""
    found = [
        finding
        for finding in incidents.findings_of_kind(run_id, REGRESSION, MAX_REGRESSIONS)
        if finding.severity is not FindingSeverity.INFO
        and contains(history, finding.attempt, finding.onset_step or 0)
    ]
    return [replace(c, regressed=_regressed(c, found)) for c in saved] if found else saved


def _regressed(checkpoint: SavedCheckpoint, found: Sequence[Finding]) -> tuple[str, ...]:
    """An evaluation stands for its step and what follows, until one is good again."""
    bad = [
        finding
        for finding in found
        if (finding.onset_step or 0) <= checkpoint.step
        and (finding.closed_step is None or checkpoint.step < finding.closed_step)
    ]
    return tuple(
        f"evaluated worse before the save: {finding.series} {number(finding.facts.get('before'))}"
        f" -> {number(finding.facts.get('value'))} at step {finding.onset_step:,}"
        for finding in bad[:REGRESSIONS_SHOWN]
    )


def _with_health(
    run_id: int,
    key: str,
    saved: list[SavedCheckpoint],
    fault: Fault,
    history: Sequence[Stretch],
) -> list[SavedCheckpoint]:
    """The loss before the save, for the newest checkpoints before the onset."""
    limit = fault.onset_step
    near = {
        c.step
        for c in saved
        if contains(history, c.attempt, c.step) and (limit is None or c.step <= limit)
    }
    z: dict[int, float | None] = {}
    for step in sorted(near, reverse=True)[:HEALTH_SHOWN]:
        rows = join(run_id, key, history, (max(0, step - HEALTH_STEPS), step))
        z[step] = loss_z(rows, step)
    return [replace(c, loss_z=z.get(c.step)) for c in saved]
