"""One rank whose local loss stands apart from all others at the same step.

Data-parallel ranks train the same weights on different samples: their losses differ by sampling
noise only. A rank that stays apart computes something else: corrupted weights or a broken device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from apps.core.errors import AppError
from apps.core.records import Evidence, Finding, FindingSeverity, Suspect
from apps.metrics.domain.blocks import Floats
from apps.metrics.domain.reference import MAD_TO_SD
from apps.metrics.domain.reports import fact, number
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


class OpenOutlier(msgspec.Struct):
    """A reported rank that has not come back."""

    since_step: int
    since_time_ns: int
    last_normal_step: int | None
    severity: str


class RankState(msgspec.Struct):
    """Verdicts of the last steps and the ranks that are apart now."""

    version: int = STATE_VERSION
    steps: list[StepVerdict] = []
    open: dict[int, OpenOutlier] = {}
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
    _replace_steps(state, points, policy)
    found = []
    for rank in sorted(
        {rank for verdict in state.steps for rank in verdict.apart} | set(state.open)
    ):
        finding = _rank_finding(state, rank, attempt, series, policy)
        if finding is not None:
            found.append(finding)
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
    verdict.median = float(np.median(finite))
    verdict.scale = MAD_TO_SD * float(np.median(np.abs(finite - verdict.median)))
    scale = max(verdict.scale, usual, policy.floor_ratio * abs(verdict.median), 1e-12)
    far = np.abs(value - verdict.median)
    apart = ~np.isfinite(value)
    apart |= (far > policy.z * scale) & (far > policy.excess * abs(verdict.median))
    if apart.sum() <= max(1, len(rank) // 4):
        verdict.apart = {int(r): float(v) for r, v in zip(rank[apart], value[apart], strict=True)}
    return verdict


# -- persistence ------------------------------------------------------------------------------


def _rank_finding(
    state: RankState, rank: int, attempt: int, series: str, policy: RankPolicy
) -> Finding | None:
    known = state.open.get(rank)
    flags = [rank in verdict.apart for verdict in state.steps]
    if known is not None:
        if len(flags) < policy.clear_rows or any(flags[-policy.clear_rows :]):
            return None
        del state.open[rank]
        here = state.steps[-1]
        return _finding(state, rank, known, here, attempt=attempt, series=series, closed=True)
    seen = _persistent_at(flags, policy)
    if seen is None or not any(flags[-policy.of :]):
        return None
    since = _stretch_start(flags, seen, policy)
    normal = [v.step for v, flag in zip(state.steps[:since], flags, strict=False) if not flag]
    enough = len(normal) + state.dropped_steps >= policy.normal_rows
    first = state.steps[since]
    opened = OpenOutlier(
        first.step, first.time_ns, max(normal, default=None), "page" if enough else "warn"
    )
    state.open[rank] = opened
    here = state.steps[seen]
    return _finding(state, rank, opened, here, attempt=attempt, series=series, closed=False)


def _persistent_at(flags: list[bool], policy: RankPolicy) -> int | None:
    """The first step at which `need` of the last `of` flags of the newest stretch are set."""
    start = 0
    for at in range(len(flags)):
        if at >= policy.clear_rows and not any(flags[at - policy.clear_rows + 1 : at + 1]):
            start = at + 1
    for at in range(start, len(flags)):
        if flags[at] and sum(flags[max(start, at - policy.of + 1) : at + 1]) >= policy.need:
            return at
    return None


def _stretch_start(flags: list[bool], seen: int, policy: RankPolicy) -> int:
    first = max(0, seen - policy.of + 1)
    return next(at for at in range(first, seen + 1) if flags[at])


# -- words ------------------------------------------------------------------------------------


def _finding(
    state: RankState,
    rank: int,
    opened: OpenOutlier,
    here: StepVerdict,
    *,
    attempt: int,
    series: str,
    closed: bool,
) -> Finding:
    value = here.apart.get(rank)
    z = _z(value, here)
    text = (
        f"rank {rank}: {series} {number(value)}, the other {here.ranks - 1} ranks have the median "
        f"{number(here.median)}"
    )
    evidence = (
        Evidence(text, time_ns=here.time_ns, step=here.step, rank=rank),
        Evidence(
            f"apart at {sum(rank in v.apart for v in state.steps)} of the last {len(state.steps)} "
            f"logged steps, normal until step {opened.last_normal_step}",
            step=opened.since_step,
            rank=rank,
        ),
    )
    suspect = Suspect(rank, None, FAULT_CLASS, CONFIDENCE, evidence)
    return Finding(
        key=f"rank:a{attempt}:r{rank}:s{opened.since_step}",
        detector=DETECTOR,
        kind="rank_outlier",
        severity=FindingSeverity(opened.severity),
        attempt=attempt,
        onset_step=opened.since_step,
        onset_time_ns=opened.since_time_ns,
        seen_step=here.step,
        seen_time_ns=here.time_ns,
        title=f"rank {rank} stands apart from its peers since step {opened.since_step} "
        f"({series} {number(value)} against {number(here.median)})"
        if not closed
        else f"rank {rank} is back among its peers at step {here.step}",
        series=series,
        rank=rank,
        closed_step=here.step if closed else None,
        closed_time_ns=here.time_ns if closed else None,
        evidence=evidence,
        suspects=(suspect,),
        facts={
            "value": fact(value),
            "median_of_others": here.median,
            "z": fact(z),
            "since_step": opened.since_step,
            "last_normal_step": opened.last_normal_step,
            "ranks": here.ranks,
            "rule": "local loss beyond 6 robust standard deviations and 25 % of the median of the "
            "ranks at 2 of 3 logged steps",
        },
    )


def _z(value: float | None, here: StepVerdict) -> float | None:
    if value is None or not math.isfinite(value) or not here.scale:
        return None
    return (value - here.median) / here.scale
