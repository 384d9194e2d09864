"""What single ranks log at each step besides their loss: slow ranks, and numbers that differ."""

from __future__ import annotations

import logging

from apps.core.errors import AppError
from apps.core.records import Finding
from apps.metrics import store
from apps.metrics.domain import rank_outlier, straggling
from apps.metrics.domain.rank_signals import Meaning, RankSignal, judged
from apps.metrics.domain.rank_table import SeriesTable, table_of
from apps.metrics.domain.roles import local_losses
from apps.metrics.domain.straggling import SignalStates
from apps.metrics.look import Look
from apps.metrics.store.detectors import DetectorState
from apps.runs import store as runs

RANK_SIGNALS = "rank_signals"

log = logging.getLogger(__name__)


def signals_of(look: Look) -> list[RankSignal]:
    """The per-rank series of a run that are compared, but for the loss."""
    losses = {*local_losses(look.names.rank_keys), look.roles.rank_loss}
    names = [name for name in look.names.rank_keys if name not in losses]
    return judged(names, store.signal_rules_of_run(look.run_id).meanings) if names else []


def watch(look: Look, first: int, last: int | None) -> list[Finding]:
    """Judges the logged steps with news, in the caller's transaction; no statement for a run whose
    ranks log only their loss, else seven, whatever the number of ranks and series."""
    signals = signals_of(look)
    if not signals:
        return []
    run_id, attempt = look.run_id, look.attempt
    known = store.lock_detector(run_id, attempt, RANK_SIGNALS)
    series = store.read_rank_series(run_id, attempt, [s.series for s in signals], (first, last))
    logged = [(signal, series[signal.series]) for signal in signals if signal.series in series]
    if not logged:
        return []
    states = _load(known.state)
    found = straggling.judge(states, logged, attempt, runs.rank_count(run_id, attempt))
    newest = straggling.latest_of(states.of)
    state = DetectorState(newest, straggling.dump(states))
    store.save_detector(run_id, attempt, RANK_SIGNALS, state)
    return found


def states_of(run_id: int, attempt: int) -> SignalStates:
    """What was judged last of each series, not locked."""
    return _load(store.detector_state(run_id, attempt, RANK_SIGNALS))


def _load(data: bytes | None) -> SignalStates:
    try:
        return straggling.load(data) if data else SignalStates()
    except AppError as error:
        log.warning("metrics.detector_state_refused", extra={"reason": str(error)})
        return SignalStates()


TABLE_STEPS = 10
"""Logged steps that a table of ranks looks back."""


def tables(run_id: int, attempt: int) -> list[SeriesTable]:
    """How far each rank is from the others at the last logged steps, a table a series: the loss of
    the ranks first. At most nine statements; 0.2 us a value."""
    look = Look(run_id, attempt)
    signals = signals_of(look)
    loss = look.roles.rank_loss
    if loss is not None:
        signals = [RankSignal(loss, Meaning.LOSS), *signals]
    if not signals:
        return []
    span = _last_steps(run_id, attempt)
    found = store.read_rank_series(run_id, attempt, [s.series for s in signals], span)
    logged = [(signal, found[signal.series]) for signal in signals if signal.series in found]
    paces = straggling.paces_of(logged)
    rows = (table_of(signal, points, paces) for signal, points in logged)
    return [table for table in rows if table is not None]


def _last_steps(run_id: int, attempt: int) -> tuple[int | None, int | None]:
    """From which step on the last TABLE_STEPS logged ones lie; all of them before the first look of
    a detector."""
    states = states_of(run_id, attempt).of
    loss = store.detector_state(run_id, attempt, "rank_outlier")
    steps = {v.step for state in states.values() for v in state.steps[-TABLE_STEPS:]}
    if not steps and loss:
        steps = {v.step for v in rank_outlier.load(loss).steps[-TABLE_STEPS:]}
    return (sorted(steps)[-TABLE_STEPS:][0] if steps else None), None
