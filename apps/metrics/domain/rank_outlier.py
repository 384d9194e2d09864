"""One rank whose number stands apart from those of all others at the same step.

Data-parallel ranks train the same weights on different samples: their losses differ by sampling
noise only. A rank that stays apart computes something else: corrupted weights or a broken device.
A rank that stays slower than its peers makes all of them wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt

from apps.core.errors import AppError
from apps.core.records import Finding
from apps.core.robust import center_and_scale
from apps.metrics.domain import rank_words, straggler_words
from apps.metrics.domain.blocks import Floats
from apps.metrics.domain.rank_signals import PARTS, Meaning
from apps.metrics.domain.rank_state import RankCase, StepVerdict, Told
from apps.metrics.domain.rolling import median
from apps.metrics.records import Points

STATE_VERSION = 2


@dataclass(frozen=True, slots=True)
class RankPolicy:
    """A rank is apart at a step beyond `z` robust standard deviations of its peers, `excess`
    of their median and `share` of the time of the step; side: 1 above them only, -1 below, 0 both.
    It is reported when that holds at `need` of `of` logged steps.

    The scale is at least the usual scale of the last steps and `floor_ratio` of the median: with
    eight ranks one step's own MAD can be small by chance. A rank must have been normal at
    `normal_rows` steps before, else it was always different (other data) and only worth a warning.
    More than a quarter of the ranks apart, or most_apart, is no outlier; more than alone_ratio of
    them that were always different are a stage of a pipeline. A step is judged once `quorum` of the
    known ranks have logged it, `min_ranks` at least: hosts send at their own pace, and three ranks
    of eight are no crowd to stand apart from. history_rows bounds the state. loud: the severity.
    """

    z: float = 6.0
    excess: float = 0.25
    floor_ratio: float = 0.03
    min_ranks: int = 4
    quorum: float = 0.5
    need: int = 2
    of: int = 3
    normal_rows: int = 3
    clear_rows: int = 3
    history_rows: int = 256
    scale_rows: int = 20
    side: int = 0
    share: float = 0.0
    most_apart: int = 1 << 20
    alone_ratio: float = 1.0
    loud: str = "page"


SIGNAL_POLICY = RankPolicy(
    z=10.0, excess=0.0, floor_ratio=0.005, need=4, of=5, clear_rows=5, history_rows=64,
    most_apart=64, alone_ratio=1 / 64, loud="warn",
)  # fmt: skip
"""Any number that ranks should agree about. Noise with tails as heavy as those of Student's t with
three degrees of freedom passes z at 0.15 % of the steps, 4 times of 5 at less than 1e-10."""
_SLOW = RankPolicy(
    z=6.0, excess=0.0, floor_ratio=0.0, need=4, of=5, clear_rows=5, history_rows=64,
    side=1, share=0.05, most_apart=64, alone_ratio=1 / 64, loud="warn",
)  # fmt: skip
"""Less than 5 % of a step cannot be told from noise by log lines; host tests can."""


def policy_of(meaning: Meaning) -> RankPolicy:
    """How a per-rank series of this meaning is compared."""
    if meaning is Meaning.LOSS:
        return RankPolicy()
    if meaning is Meaning.COMMUNICATION:
        return replace(_SLOW, side=-1)
    return _SLOW if meaning in PARTS else SIGNAL_POLICY


class RankState(msgspec.Struct):
    """Verdicts of the last steps and what was told about them. dropped_steps: no longer kept.
    series: what was judged, "" in states of an older program."""

    version: int = STATE_VERSION
    steps: list[StepVerdict] = []
    told: list[Told] = []
    dropped_steps: int = 0
    series: str = ""


def load(data: bytes) -> RankState:
    """The state that `dump` stored. Raises AppError for another version or foreign bytes."""
    try:
        state = msgspec.msgpack.decode(data, type=RankState)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise AppError("the stored state cannot be read", where=f"rank outlier: {error}") from error
    if state.version != STATE_VERSION:
        raise AppError(f"state version {state.version}, not {STATE_VERSION}", where="rank outlier")
    return state


def dump(state: RankState) -> bytes:
    """The state as MessagePack."""
    return msgspec.msgpack.encode(state)


def judge(
    state: RankState,
    points: Points,
    case: RankCase,
    policy: RankPolicy,
    paces: Mapping[int, float] | None = None,
) -> list[Finding]:
    """Findings that opened, changed or closed after judging these steps (again).

    points: all ranks of the steps with news, by step. A step may come again when late ranks have
    arrived: its verdict is replaced, and what was told of it is told anew with the larger number
    of ranks, or taken back. paces: step -> seconds it took, for a policy with a share; what is
    no number stands apart, but a time that is none was not logged. O(steps x ranks log ranks).
    """
    found: dict[str, Finding] = {}
    look = _Look(case, policy, paces or {})
    for part in _portions(points, policy.history_rows // 2):
        found |= {finding.key: finding for finding in _judge(state, part, look)}
    return list(found.values())


def abandoned(state: RankState, attempt: int) -> list[Finding]:
    """What is open, taken back: the series that said it is no longer the loss of the ranks."""
    case = RankCase(attempt, state.series, 0)
    newest = state.steps[-1] if state.steps else None
    return [
        rank_words.renamed(case, told, newest)
        for told in state.told
        if newest is not None and told.closed_step is None and told.severity != "info"
    ]


def _portions(points: Points, steps: int) -> Iterator[Points]:
    """The points in portions of so many steps, so that the history covers each of them."""
    if points.rank is None or not len(points.step):
        return
    starts = np.flatnonzero(np.r_[True, points.step[1:] != points.step[:-1]])[::steps]
    for start, end in pairwise([*starts.tolist(), len(points.step)]):
        one = slice(start, end)
        yield Points(points.step[one], points.time_ns[one], points.value[one], points.rank[one])


@dataclass(frozen=True, slots=True)
class _Look:
    """What one call of judge looks by."""

    case: RankCase
    policy: RankPolicy
    paces: Mapping[int, float]


def _judge(state: RankState, points: Points, look: _Look) -> list[Finding]:
    case, policy = look.case, look.policy
    _replace_steps(state, points, look)
    judged = [verdict for verdict in state.steps if verdict.judged]
    if not judged:
        return []
    bench = _Bench(state, judged, case, policy)
    ranks = {rank for verdict in judged for rank in verdict.apart}
    ranks |= {told.rank for told in state.told}
    found = [finding for rank in sorted(ranks) for finding in bench.about(rank)]
    oldest = judged[0].step
    state.told = [t for t in state.told if t.closed_step is None or t.closed_step >= oldest]
    return found


# -- verdicts of single steps -----------------------------------------------------------------


def _replace_steps(state: RankState, points: Points, look: _Look) -> None:
    case, policy = look.case, look.policy
    if points.rank is None or not len(points.step):
        return
    verdicts = {verdict.step: verdict for verdict in state.steps}
    most = max((verdict.ranks for verdict in state.steps), default=0)
    quorum = max(policy.min_ranks, policy.quorum * max(case.known_ranks, most))
    starts = np.flatnonzero(np.r_[True, points.step[1:] != points.step[:-1]])
    for start, end in pairwise([*starts.tolist(), len(points.step)]):
        one, step = slice(start, end), int(points.step[start])
        earlier = [v.scale for at, v in verdicts.items() if v.judged and at < step]
        usual = median(earlier[-policy.scale_rows :])
        rank, value = _last_of_each_rank(points.rank[one], points.value[one])
        if policy.side:
            rank, value = rank[np.isfinite(value)], value[np.isfinite(value)]
        verdicts[step] = StepVerdict(step, int(points.time_ns[one].max()), len(rank))
        verdicts[step].pace_s = look.paces.get(step, 0.0)
        timed = verdicts[step].pace_s > 0 or not policy.share
        if timed and len(rank) >= quorum and np.isfinite(value).any():
            _compare(verdicts[step], (rank, value), usual, policy)
    steps = [verdicts[step] for step in sorted(verdicts)]
    state.dropped_steps += sum(verdict.judged for verdict in steps[: -policy.history_rows])
    state.steps = steps[-policy.history_rows :]


def _last_of_each_rank(
    rank: npt.NDArray[np.int32], value: Floats
) -> tuple[npt.NDArray[np.int32], Floats]:
    """A step logged twice by a rank counts once, with what arrived last."""
    found, back = np.unique(rank[::-1], return_index=True)
    return found, value[::-1][back]


def _compare(
    verdict: StepVerdict,
    logged: tuple[npt.NDArray[np.int32], Floats],
    usual: float,
    policy: RankPolicy,
) -> None:
    """Fills in who is apart. logged: ranks and their values. usual: scale of the steps before."""
    rank, value = logged
    verdict.judged = True
    verdict.median, verdict.scale = center_and_scale(value[np.isfinite(value)])
    scale = max(verdict.scale, usual, policy.floor_ratio * abs(verdict.median), 1e-12)
    far = value - verdict.median
    far = policy.side * far if policy.side else np.abs(far)
    least = max(policy.excess * abs(verdict.median), policy.share * verdict.pace_s)
    apart = ~np.isfinite(value)
    apart |= (far > policy.z * scale) & (far > least)
    if apart.sum() <= min(max(1, len(rank) // 4), policy.most_apart):
        verdict.apart = {int(r): float(v) for r, v in zip(rank[apart], value[apart], strict=True)}


# -- persistence ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Episode:
    """A persistent stretch of a rank: the first step apart, the one at which that was persistent,
    the one at which the rank was back (None while it is not). normal_steps: those before it."""

    since: StepVerdict
    seen: StepVerdict
    end: StepVerdict | None
    normal_steps: list[int]


@dataclass(frozen=True, slots=True)
class _Bench:
    """One look at all judged steps. Every episode is compared with what was told of it."""

    state: RankState
    judged: list[StepVerdict]
    case: RankCase
    policy: RankPolicy

    def about(self, rank: int) -> list[Finding]:
        """What is new about a rank."""
        found: list[Finding] = []
        standing: list[Told] = []
        for episode in self.episodes(rank):
            known = self.known(rank, episode)
            told = self.told(rank, episode, known)
            standing.append(told)
            if told == known:
                continue
            self.state.told = [*(t for t in self.state.told if t is not known), told]
            found.append(self.finding(told, episode))
        for told in self.state.told:
            if told.rank == rank and told not in standing and self.is_disproved(told):
                told.severity, told.closed_step = "info", self.judged[-1].step
                words = straggler_words if self.policy.side else rank_words
                found.append(words.taken_back(self.case, told, self.judged[-1]))
        return found

    def finding(self, told: Told, episode: _Episode) -> Finding:
        """What is said of an episode."""
        if not self.policy.side:
            return rank_words.finding(self.case, told, episode.seen, episode.end)
        last = episode.seen.step if episode.end is None else episode.end.step
        during = [v for v in self.judged if told.since_step <= v.step <= last]
        cost = straggler_words.cost_of(during, told.rank)
        return straggler_words.finding(self.case, told, (episode.seen, episode.end), cost)

    def is_disproved(self, told: Told) -> bool:
        """Whether a report without an episode is wrong, and not just older than the history."""
        kept = told.closed_step is None or told.since_step >= self.judged[0].step
        return kept and told.severity != "info"

    def episodes(self, rank: int) -> list[_Episode]:
        """The persistent stretches of a rank, oldest first."""
        flags = [rank in verdict.apart for verdict in self.judged]
        return [
            _Episode(
                since=self.judged[since],
                seen=self.judged[seen],
                end=None if end is None else self.judged[end],
                normal_steps=[v.step for v in self.judged[:since] if rank not in v.apart],
            )
            for since, seen, end in _stretches(flags, self.policy)
        ]

    def known(self, rank: int, episode: _Episode) -> Told | None:
        """What was told of this episode: the first report that overlaps it."""
        for told in self.state.told:
            before = told.closed_step is not None and told.closed_step < episode.since.step
            after = episode.end is not None and episode.end.step < told.since_step
            if told.rank == rank and not before and not after:
                return told
        return None

    def told(self, rank: int, episode: _Episode, known: Told | None) -> Told:
        """What is to be told of the episode. A page stays a page, a key stays the same."""
        many = len(episode.normal_steps) + self.state.dropped_steps
        told = Told(
            rank=rank,
            key_step=episode.since.step,
            since_step=episode.since.step,
            since_time_ns=episode.since.time_ns,
            last_normal_step=max(episode.normal_steps, default=None),
            severity=self.policy.loud if many >= self.policy.normal_rows else self.quiet(episode),
            seen_step=episode.seen.step,
            ranks=episode.seen.ranks,
            closed_step=None if episode.end is None else episode.end.step,
        )
        if known is None:
            return told
        told.key_step = known.key_step
        if not episode.normal_steps:  # they may have left the history
            told.last_normal_step = known.last_normal_step
        louder = self.policy.loud if known.severity == self.policy.loud else told.severity
        told.severity = louder
        if known.since_step < self.judged[0].step:  # it seems to begin where the history begins
            told = msgspec.structs.replace(known, closed_step=told.closed_step)
        return told

    def quiet(self, episode: _Episode) -> str:
        """The severity of what was always different: many of a kind are a stage, not a fault."""
        few = max(1.0, self.policy.alone_ratio * episode.seen.ranks)
        return "warn" if len(episode.seen.apart) <= few else "info"


def _stretches(flags: list[bool], policy: RankPolicy) -> list[tuple[int, int, int | None]]:
    """(since, seen, end) of the persistent stretches as indexes, oldest first. flags: apart."""
    found: list[tuple[int, int, int | None]] = []
    floor, since, seen, last = 0, 0, -1, 0
    for at, flag in enumerate(flags):
        last = at if flag else last
        if seen < 0:
            first = max(floor, at - policy.of + 1)
            if flag and sum(flags[first : at + 1]) >= policy.need:
                since, seen = flags.index(True, first), at
        elif at - last >= policy.clear_rows:
            found.append((since, seen, at))
            floor, seen = at + 1, -1
    return found if seen < 0 else [*found, (since, seen, None)]
