"""Which series of a run left their bands around an incident: of the job, of layers, of ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from apps.core.records import Finding
from apps.metrics import naming, store
from apps.metrics.domain import rank_outlier
from apps.metrics.domain.departures import Departure, DeparturePolicy, departures
from apps.metrics.domain.layer_keys import LayerKey, Recogniser
from apps.metrics.domain.layer_statistics import ORDER
from apps.metrics.domain.rank_outlier import RankPolicy, RankState
from apps.metrics.domain.rank_state import RankCase
from apps.metrics.domain.roles import model_signals

NEAR_STEPS, FAR_STEPS = 600, 4_000
"""How far back series are read; the farther one those with fewer than NEAR_ROWS values in the
nearer, if one of those can be the beginning of a move."""
NEAR_ROWS = 100
RANK_STEPS = 400
MAX_SIGNALS = 8_192
MAX_RANKED = 8
MAX_CELLS = 1 << 22
"""Of one matrix in memory: 38 MB."""


@dataclass(frozen=True, slots=True)
class MovedSignal:
    """A series that left its band around an incident. layer: what its name says. rank: of a series
    of ranks, the one that left the band of the others."""

    key: str
    departure: Departure
    layer: LayerKey | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """signals: the first to move first. looked_at: how many series; left_out: how many more there
    are. layered: whether the run logs statistics of layers."""

    signals: list[MovedSignal]
    looked_at: int
    left_out: int
    layered: bool


def moved(run_id: int, attempt: int, anchor_step: int) -> Moved:
    """The model's series that had left their bands by a step, or did soon after, first mover first.

    At equal steps the one furthest out (in robust standard deviations) first. At most MAX_SIGNALS
    series of the job are looked at and MAX_RANKED of ranks; a run with more has those of the whole
    job and of the most telling statistics looked at. About 0.3 ms a series with a row a step.
    """
    known = naming.known(run_id)
    reader = known.naming.recogniser()
    names = sorted(model_signals(known.keys), key=lambda key: (_order(reader, key), key))
    ranked = model_signals(known.rank_keys)
    ids = {name: key_id for key_id, name in store.newer_keys(run_id, 0)}
    looked = [name for name in names[:MAX_SIGNALS] if name in ids]
    case = _Case(run_id, attempt, anchor_step)
    found = [
        MovedSignal(name, gone, reader.recognise(name))
        for name, gone in _of_the_job(case, {name: ids[name] for name in looked})
    ]
    for key in ranked[:MAX_RANKED]:
        found += _of_ranks(case, key, reader)
    found.sort(key=lambda m: (m.departure.step, -abs(m.departure.z), m.key, m.rank or 0))
    return Moved(
        signals=found,
        looked_at=len(looked) + len(ranked[:MAX_RANKED]),
        left_out=len(names) - len(looked) + len(ranked[MAX_RANKED:]),
        layered=any(_order(reader, key) >= 0 for key in names),
    )


@dataclass(frozen=True, slots=True)
class _Case:
    run_id: int
    attempt: int
    anchor_step: int


def _order(reader: Recogniser, key: str) -> int:
    """The whole job first, then the most telling statistics."""
    layer = reader.recognise(key)
    return -1 if layer is None else ORDER[layer.statistic]


def _of_the_job(case: _Case, ids: dict[str, int]) -> list[tuple[str, Departure]]:
    found: list[tuple[str, Departure]] = []
    names, portion = list(ids), MAX_CELLS // (NEAR_STEPS + 100)
    sparse: list[str] = []
    for start in range(0, len(names), portion):
        part = names[start : start + portion]
        moves, few = _look(case, {name: ids[name] for name in part}, NEAR_STEPS)
        sparse += few
        found += moves
    for start in range(0, len(sparse), portion):
        part = sparse[start : start + portion]
        found += _look(case, {name: ids[name] for name in part}, FAR_STEPS)[0]
    return found


def _look(
    case: _Case, ids: dict[str, int], steps: int
) -> tuple[list[tuple[str, Departure]], list[str]]:
    """The moves of these series, and those that have values but too few to judge them."""
    names, policy = list(ids), DeparturePolicy()
    low, high = case.anchor_step - steps, case.anchor_step + policy.after_steps
    rows = store.read_matrix(case.run_id, case.attempt, list(ids.values()), low, high)
    if rows is None:
        return [], []
    counts = np.count_nonzero(rows.shown, axis=0).tolist()
    few = {n for n, count in enumerate(counts) if count < NEAR_ROWS and steps == NEAR_STEPS}
    moves = departures(rows, case.anchor_step, policy)
    found = [(names[one.column], one) for one in moves if one.column not in few]
    recent = rows.shown[rows.step >= case.anchor_step - policy.look_back_steps]
    begun = np.count_nonzero(recent, axis=0).tolist()
    return found, [names[n] for n in sorted(few) if begun[n]]


def _of_ranks(case: _Case, key: str, reader: Recogniser) -> list[MovedSignal]:
    """The ranks of one series that left the band of the others, as the detector of ranks has it."""
    low, high = case.anchor_step - RANK_STEPS, case.anchor_step + DeparturePolicy().after_steps
    points = store.read_rank_rows(case.run_id, case.attempt, key, low, high)
    if points is None:
        return []
    told = rank_outlier.judge(RankState(), points, RankCase(case.attempt, key), RankPolicy())
    over = (f for f in told if f.closed_step is None or f.closed_step >= case.anchor_step)
    return [
        MovedSignal(key, _departure(one.onset_step, one), reader.recognise(key), one.rank)
        for one in over
        if one.onset_step is not None
    ]


def _departure(step: int, told: Finding) -> Departure:
    facts = told.facts
    return Departure(
        step=step,
        value=float(facts["value"]),
        before=float(facts["median_of_others"]),
        z=math.inf if facts["z"] is None else float(facts["z"]),
        time_ns=told.onset_time_ns,
    )
