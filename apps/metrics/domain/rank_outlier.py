"""One rank whose local loss stands apart from all others at the same step.

Data-parallel ranks train the same weights on different samples: their losses differ by sampling
noise only. A rank that stays apart computes something else: corrupted weights or a broken device.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt

from apps.core.errors import AppError
from apps.core.records import Evidence, Finding, FindingSeverity, Suspect
from apps.core.robust import center_and_scale
from apps.core.words import number
from apps.metrics.domain.blocks import Floats
from apps.metrics.domain.reports import fact
from apps.metrics.domain.rolling import median
from apps.metrics.records import Points

DETECTOR = "metrics.rank_outlier"
STATE_VERSION = 1
FAULT_CLASS = "silent_data_corruption"
CONFIDENCE = 0.8
"""Same weights and clip, other result: memory or arithmetic. Bad samples would not stay bad."""


@dataclass(frozen=True, slots=True)
class RankPolicy:
    """A rank is apart at a step beyond `z` robust standard deviations of its peers and `excess`
    of their median. It is reported when that holds at `need` of `of` logged steps.

    The scale is at least the usual scale of the last steps and `floor_ratio` of the median: with
    eight ranks one step's own MAD can be small by chance. A rank must have been normal at
    `normal_rows` steps before, else it was always different (other data) and only worth a warning.
    More than a quarter of the ranks apart is no outlier. history_rows bounds the state.
    """

    z: float = 6.0
    excess: float = 0.25
    floor_ratio: float = 0.03
    min_ranks: int = 4
    need: int = 2
    of: int = 3
    normal_rows: int = 3
    clear_rows: int = 3
    history_rows: int = 256
    scale_rows: int = 20


class StepVerdict(msgspec.Struct):
    """One logged step. apart: rank -> its value; NaN and inf by name. scale: of this step alone."""

    step: int
    time_ns: int
    ranks: int
    median: float
    scale: float
    apart: dict[int, float] = {}


class Told(msgspec.Struct):
    """A stretch of a rank that was reported. closed: it has come back, and that was reported."""

    rank: int
    since_step: int
    since_time_ns: int
    last_normal_step: int | None
    severity: str
    closed: bool = False


class RankState(msgspec.Struct):
    """Verdicts of the last steps and what was told about them. dropped_steps: no longer kept."""

    version: int = STATE_VERSION
    steps: list[StepVerdict] = []
    told: list[Told] = []
    dropped_steps: int = 0


def load(data: bytes) -> RankState:
    """The state that `dump` stored. Raises AppError for another version or foreign bytes."""
    try:
        state = msgspec.msgpack.decode(data, type=RankState)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise AppError(
            "the stored state cannot be read", hint="delete it", where=f"rank outlier: {error}"
        ) from error
    if state.version != STATE_VERSION:
        raise AppError(f"state version {state.version}, not {STATE_VERSION}", where="rank outlier")
    return state


def dump(state: RankState) -> bytes:
    """The state as MessagePack."""
    return msgspec.msgpack.encode(state)


def judge(
    state: RankState, points: Points, *, attempt: int, series: str, policy: RankPolicy
) -> list[Finding]:
    """Findings that opened or closed after judging these steps (again).

    points: all ranks of the steps with news, by step. A step may come again when late ranks have
    arrived: its verdict is replaced. O(steps x ranks log ranks).
    """
    found: dict[str, Finding] = {}
    for part in _portions(points, policy.history_rows // 2):
        found |= {
            finding.key: finding for finding in _judge(state, part, (attempt, series), policy)
        }
    return list(found.values())


def _portions(points: Points, steps: int) -> Iterator[Points]:
    """The points in portions of so many steps, so that the history covers each of them."""
    if points.rank is None or not len(points.step):
        return
    starts = np.flatnonzero(np.r_[True, points.step[1:] != points.step[:-1]])[::steps]
    for start, end in pairwise([*starts.tolist(), len(points.step)]):
        one = slice(start, end)
        yield Points(points.step[one], points.time_ns[one], points.value[one], points.rank[one])


def _judge(
    state: RankState, points: Points, place: tuple[int, str], policy: RankPolicy
) -> list[Finding]:
    """place: (attempt, series)."""
    _replace_steps(state, points, policy)
    found = []
    for rank in sorted({rank for verdict in state.steps for rank in verdict.apart}):
        flags = [rank in verdict.apart for verdict in state.steps]
        for stretch in _stretches(flags, policy):
            told = _tell(state, rank, stretch, policy)
            if told is not None:
                where = Where(*place, state.steps[stretch.seen])
                end = None if stretch.end is None else state.steps[stretch.end]
                found.append(_finding(where, told, end))
    oldest = state.steps[0].step if state.steps else 0
    state.told = [told for told in state.told if not told.closed or told.since_step >= oldest]
    return found


# -- verdicts of single steps -----------------------------------------------------------------


def _replace_steps(state: RankState, points: Points, policy: RankPolicy) -> None:
    if points.rank is None or not len(points.step):
        return
    verdicts = {verdict.step: verdict for verdict in state.steps}
    starts = np.flatnonzero(np.r_[True, points.step[1:] != points.step[:-1]])
    ends = np.r_[starts[1:], len(points.step)]
    for start, end in zip(starts, ends, strict=True):
        one = slice(int(start), int(end))
        earlier = [v.scale for step, v in verdicts.items() if step < points.step[start]]
        usual = median(earlier[-policy.scale_rows :])
        rank, value = _last_of_each_rank(points.rank[one], points.value[one])
        verdict = _verdict(rank, value, usual, policy)
        verdict.step, verdict.time_ns = int(points.step[start]), int(points.time_ns[one].max())
        verdicts[verdict.step] = verdict
    steps = [verdicts[step] for step in sorted(verdicts)]
    state.dropped_steps += max(0, len(steps) - policy.history_rows)
    state.steps = steps[-policy.history_rows :]


def _last_of_each_rank(
    rank: npt.NDArray[np.int32], value: Floats
) -> tuple[npt.NDArray[np.int32], Floats]:
    """A step logged twice by a rank counts once, with what arrived last."""
    found, back = np.unique(rank[::-1], return_index=True)
    return found, value[::-1][back]


def _verdict(
    rank: npt.NDArray[np.int32], value: Floats, usual: float, policy: RankPolicy
) -> StepVerdict:
    finite = value[np.isfinite(value)]
    verdict = StepVerdict(0, 0, len(rank), 0.0, 0.0)
    if len(rank) < policy.min_ranks or not finite.size:
        return verdict
    verdict.median, verdict.scale = center_and_scale(finite)
    scale = max(verdict.scale, usual, policy.floor_ratio * abs(verdict.median), 1e-12)
    far = np.abs(value - verdict.median)
    apart = ~np.isfinite(value)
    apart |= (far > policy.z * scale) & (far > policy.excess * abs(verdict.median))
    if apart.sum() <= max(1, len(rank) // 4):
        verdict.apart = {int(r): float(v) for r, v in zip(rank[apart], value[apart], strict=True)}
    return verdict


# -- persistence ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Indexes of steps: first one apart, the one at which that was persistent, the one at which
    the rank was back (None while it is not)."""

    since: int
    seen: int
    end: int | None


def _stretches(flags: list[bool], policy: RankPolicy) -> list[_Stretch]:
    """The persistent stretches of one rank, oldest first. flags: apart at each step."""
    found: list[_Stretch] = []
    floor, since, seen, last = 0, 0, -1, 0
    for at, flag in enumerate(flags):
        last = at if flag else last
        if seen < 0:
            first = max(floor, at - policy.of + 1)
            if flag and sum(flags[first : at + 1]) >= policy.need:
                since, seen = flags.index(True, first), at
        elif at - last >= policy.clear_rows:
            found.append(_Stretch(since, seen, at))
            floor, seen = at + 1, -1
    return found if seen < 0 else [*found, _Stretch(since, seen, None)]


def _tell(state: RankState, rank: int, stretch: _Stretch, policy: RankPolicy) -> Told | None:
    """The record of a stretch if there is something new to say about it."""
    first = state.steps[stretch.since]
    closed = stretch.end is not None
    for told in state.told:
        # A stretch longer than the history seems to begin where the history begins.
        longer = told.since_step < state.steps[0].step and not told.closed
        same = told.since_step == first.step or (longer and stretch.since < policy.of)
        if told.rank == rank and same:
            changed = told.closed != closed
            told.closed = closed
            return told if changed else None
    before = state.steps[: stretch.since]
    normal = [verdict.step for verdict in before if rank not in verdict.apart]
    enough = len(normal) + state.dropped_steps >= policy.normal_rows
    severity = "page" if enough else "warn"
    last_normal = max(normal, default=None)
    told = Told(rank, first.step, first.time_ns, last_normal, severity, closed)
    state.told.append(told)
    return told


# -- words ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Where:
    """Which series of which attempt, and the step that was judged."""

    attempt: int
    series: str
    here: StepVerdict


def _finding(where: Where, told: Told, end: StepVerdict | None) -> Finding:
    here, rank = where.here, told.rank
    value = here.apart.get(rank)
    evidence = (
        Evidence(
            f"rank {rank}: {where.series} {number(value)}, the other {here.ranks - 1} ranks have "
            f"the median {number(here.median)}",
            time_ns=here.time_ns,
            step=here.step,
            rank=rank,
        ),
        Evidence(
            f"apart from its peers since step {told.since_step}, normal until step "
            f"{told.last_normal_step}",
            time_ns=told.since_time_ns,
            step=told.since_step,
            rank=rank,
        ),
    )
    back = "" if end is None else f", back by step {end.step}"
    return Finding(
        key=f"rank:a{where.attempt}:r{rank}:s{told.since_step}",
        detector=DETECTOR,
        kind="rank_outlier",
        severity=FindingSeverity(told.severity),
        attempt=where.attempt,
        onset_step=told.since_step,
        onset_time_ns=told.since_time_ns,
        seen_step=here.step,
        seen_time_ns=here.time_ns,
        title=f"rank {rank} stands apart from its peers since step {told.since_step} "
        f"({where.series} {number(value)} against {number(here.median)}){back}",
        series=where.series,
        rank=rank,
        closed_step=None if end is None else end.step,
        closed_time_ns=None if end is None else end.time_ns,
        evidence=evidence,
        suspects=(Suspect(rank, None, FAULT_CLASS, CONFIDENCE, evidence),),
        facts={
            "value": fact(value),
            "median_of_others": here.median,
            "z": fact(_z(value, here)),
            "since_step": told.since_step,
            "last_normal_step": told.last_normal_step,
            "ranks": here.ranks,
            "rule": "local loss beyond 6 robust standard deviations and 25 % of the median of the "
            "ranks at 2 of 3 logged steps",
        },
    )


def _z(value: float | None, here: StepVerdict) -> float | None:
    if value is None or not math.isfinite(value) or not here.scale:
        return None
    return (value - here.median) / here.scale
