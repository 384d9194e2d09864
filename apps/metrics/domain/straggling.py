"""All per-rank numbers of an attempt but the loss, judged together: their states and step times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np

from apps.core.errors import AppError
from apps.core.records import Finding
from apps.metrics.domain import rank_outlier
from apps.metrics.domain.rank_outlier import RankState, policy_of
from apps.metrics.domain.rank_signals import PARTS, Meaning, RankSignal
from apps.metrics.domain.rank_state import RankCase
from apps.metrics.records import Points

VERSION = 1
_NS = 1e9
Timed = tuple[RankSignal, Points]


class SignalStates(msgspec.Struct):
    """series -> what is remembered of it."""

    version: int = VERSION
    of: dict[str, RankState] = {}


def load(data: bytes) -> SignalStates:
    """The states that `dump` stored. AppError for another version or foreign bytes."""
    try:
        states = msgspec.msgpack.decode(data, type=SignalStates)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise AppError("the stored state cannot be read", where=f"rank signals: {error}") from error
    if states.version != VERSION:
        raise AppError(f"state version {states.version}, not {VERSION}", where="rank signals")
    return states


def dump(states: SignalStates) -> bytes:
    """The states as MessagePack."""
    return msgspec.msgpack.encode(states)


def judge(
    states: SignalStates, logged: Sequence[Timed], attempt: int, known_ranks: int
) -> list[Finding]:
    """Findings that opened, changed or closed; changes the states.

    logged: the steps with news, all ranks. The parts of a step are compared with how long it took.
    """
    in_seconds = [(signal, _scaled(signal, points)) for signal, points in logged]
    steps_s = paces(in_seconds, _before(states, in_seconds))
    found: list[Finding] = []
    for signal, points in in_seconds:
        if signal.meaning is Meaning.TOTAL:
            continue
        case = RankCase(attempt, signal.series, known_ranks, signal.meaning)
        state = states.of.setdefault(signal.series, RankState(series=signal.series))
        found += rank_outlier.judge(state, points, case, policy_of(signal.meaning), steps_s)
    return found


def paces(timed: Iterable[Timed], before: tuple[int, int] | None = None) -> dict[int, float]:
    """step -> seconds it took: the largest of what ranks log as a whole, of the sum of its parts,
    and of the time since the logged step before. before: (step, time_ns) of one that came earlier.

    Larger is the safe side: a part of it then counts less. Steps that nothing times are left out.
    """
    medians: dict[Meaning, dict[int, float]] = {}
    times: dict[int, int] = dict([before] if before else [])
    for signal, points in timed:
        if signal.meaning not in (*PARTS, Meaning.TOTAL):
            continue
        of = medians.setdefault(signal.meaning, {})
        for step, time_ns, value in _rows(points):
            so_far = of.get(step, 0.0)
            of[step] = max(so_far, value) if signal.meaning is Meaning.TOTAL else so_far + value
            times[step] = max(times.get(step, 0), time_ns)
    parts: dict[int, float] = {}
    for meaning in PARTS:
        for step, value in medians.get(meaning, {}).items():
            parts[step] = parts.get(step, 0.0) + value
    whole = medians.get(Meaning.TOTAL, {})
    clock = {
        step: (times[step] - times[earlier]) / _NS / (step - earlier)
        for earlier, step in pairwise(sorted(times))
    }
    found = {
        step: max(whole.get(step, 0.0), parts.get(step, 0.0), clock.get(step, 0.0))
        for step in {*whole, *parts}
    }
    return {step: pace for step, pace in found.items() if pace > 0}


def paces_of(logged: Iterable[Timed]) -> dict[int, float]:
    """The same from series in their own units."""
    return paces([(signal, _scaled(signal, points)) for signal, points in logged])


def _rows(points: Points) -> Iterable[tuple[int, int, float]]:
    """(step, newest time_ns, median of the finite values) of each step."""
    if not len(points.step):
        return
    starts = np.flatnonzero(np.r_[True, points.step[1:] != points.step[:-1]])
    for start, end in pairwise([*starts.tolist(), len(points.step)]):
        value = points.value[start:end]
        finite = value[np.isfinite(value)]
        if len(finite):
            newest = int(points.time_ns[start:end].max())
            yield int(points.step[start]), newest, float(np.median(finite))


def _scaled(signal: RankSignal, points: Points) -> Points:
    if signal.factor == 1.0:
        return points
    return Points(points.step, points.time_ns, points.value * signal.factor, points.rank)


def _before(states: SignalStates, logged: Sequence[Timed]) -> tuple[int, int] | None:
    """The newest judged step before those that are logged now, and its time."""
    first = min((int(p.step[0]) for _, p in logged if len(p.step)), default=None)
    if first is None:
        return None
    earlier = [
        (verdict.step, verdict.time_ns)
        for state in states.of.values()
        for verdict in state.steps
        if verdict.step < first
    ]
    return max(earlier, default=None)


def latest_of(states: Mapping[str, RankState]) -> int | None:
    """The newest step that was judged of any series."""
    steps = [state.steps[-1].step for state in states.values() if state.steps]
    return max(steps, default=None)
