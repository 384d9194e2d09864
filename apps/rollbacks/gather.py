"""Reads from the other apps what the domain of rollbacks decides on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.checkpoints import store as checkpoints
from apps.core.clock import now_ns
from apps.core.records import Finding, FindingSeverity
from apps.core.words import number
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.metrics import naming
from apps.metrics.domain.evaluation import KIND as REGRESSION
from apps.metrics.domain.roles import Roles
from apps.metrics.policies import policy_of
from apps.rollbacks import policies, store
from apps.rollbacks.domain.cost import CostBasis
from apps.rollbacks.domain.lineage import Branch, Stretch, contains, past
from apps.rollbacks.domain.margin import SUDDEN_ROWS, sudden, whole
from apps.rollbacks.domain.ranking import Ranking, rank
from apps.rollbacks.domain.scene import FAILURE, Fault, SavedCheckpoint, Scene, Tried
from apps.rollbacks.domain.state import OrderState
from apps.rollbacks.domain.trend import EMPTY, Curve
from apps.rollbacks.domain.verdict import DEFAULT_POLICY, Trial, rows_needed
from apps.rollbacks.joining import columns, joined, timed
from apps.rollbacks.standing import standing
from apps.rollbacks.weighing import Basis, weighed
from apps.runs import store as runs
from apps.runs.domain.pace import median_step_s
from apps.runs.records import AttemptInfo

BEFORE_STEPS = 3_000
"""How far back the trend before an incident is read: 150 rows, logged every 20 steps at most."""

MAX_REGRESSIONS = 50
REGRESSIONS_SHOWN = 2
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
    """The checkpoints of a run, ranked for a fault by the rules of its project."""
    attempts, roles = runs.attempts(run_id), naming.roles_of(run_id)
    known = branches(attempts)
    history = past(known, fault.attempt)
    infos = {(info.attempt, info.step): info for info in checkpoints.checkpoints(run_id)}
    saved = list(standing(run_id, infos, now_ns()).values())
    saved = _with_evaluations(run_id, saved, history)
    saved = weighed(saved, Basis(run_id, fault, history, attempts, known, infos, roles))
    last = next((a.last_step for a in attempts if a.number == fault.attempt), None)
    cost, interval = _pace(run_id, fault, roles, last)
    window = _window_rows(run_id, fault.kind) * interval
    return rank(Scene(saved, fault, known, cost, window), policies.ranking_policy(run_id))


def _window_rows(run_id: int, kind: str) -> int:
    """Logged rows that the detector of this kind of fault looks at."""
    if whole(kind):
        return 0
    return SUDDEN_ROWS if sudden(kind) else policy_of(run_id).slow.window


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
    return timed(run_id, key, attempt, steps)[0]


def join(run_id: int, key: str, stretches: Sequence[Stretch], steps: tuple[int, int]) -> Curve:
    """The rows of a chain of attempts (newest first), each up to where the next took over."""
    return joined(run_id, [key], stretches, steps).get(key, EMPTY)


def _along(case: Case, key: str, chain: Sequence[Stretch], first: int) -> Curve:
    return join(case.run_id, key, chain, (max(0, first), case.onset_step - 1))


def _pace(run_id: int, fault: Fault, roles: Roles, last: int | None) -> tuple[CostBasis, int]:
    """What a step costs, and how many steps lie between two logged rows (0 if unknown)."""
    gpus = runs.rank_count(run_id, fault.attempt) or None
    if roles.loss is None or last is None:
        return CostBasis(last, None, gpus), 0
    end = last if fault.onset_step is None else min(last, fault.onset_step)
    keys = [key for key in (roles.loss, roles.tokens_seen) if key]
    read = columns(run_id, keys, fault.attempt, (max(0, end - BEFORE_STEPS), end))
    rows, time_ns = read.get(roles.loss, (EMPTY, []))
    tokens, _ = read.get(roles.tokens_seen or "", (EMPTY, []))
    step_s = median_step_s(list(rows.step[-_SECONDS_ROWS:]), time_ns[-_SECONDS_ROWS:])
    return CostBasis(last, step_s, gpus, _step_tokens(tokens.finite())), log_interval(rows)


def _step_tokens(seen: Curve) -> float | None:
    """Tokens a step reads, by the series that counts them; None if the run logs none."""
    if len(seen) < 2:
        return None
    step, value = seen.step[-_SECONDS_ROWS:], seen.loss[-_SECONDS_ROWS:]
    tokens = float(np.median(np.diff(value) / np.diff(step)))
    return tokens if tokens > 0 else None


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
