"""Which ranks of a running attempt have fallen silent while the others went on. Pure.

The last step that each rank has said is compared with the median of all. In synchronous training
no rank is ahead of another, so a rank that is behind for long either hangs or is not heard.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.core.records import Evidence, Finding, FindingSeverity, Suspect
from apps.core.words import duration, many
from apps.logs.domain.clock.skew import HostClock

KIND = "silent_rank"
DETECTOR = "logs.silence"
_NS = 1e9


@dataclass(frozen=True, slots=True)
class RankPulse:
    """The newest step line of a rank. pace_ns: between its last two; None for only one."""

    rank: int
    node: str
    step: int
    time_ns: int
    pace_ns: int | None = None


@dataclass(frozen=True, slots=True)
class SilencePolicy:
    """When a rank is silent.

    It is at a smaller step than the median rank and has said no step for behind_s, and for
    behind_paces times the usual time between two step lines; it is back when it has caught up, or
    said a step within half of that. Fewer than min_ranks that log steps are no crowd, as where only
    rank 0 logs. As many as half of the ranks behind are the job, or the way to us. most: findings
    at once. dead_s: an attempt whose newest step is older is watched no more: it is an import, or
    its silence is told as a whole.
    """

    behind_s: float = 120.0
    behind_paces: float = 10.0
    min_ranks: int = 4
    most: int = 16
    dead_s: float = 3_600.0


DEFAULT_POLICY = SilencePolicy()


@dataclass(frozen=True, slots=True)
class _Crowd:
    """What ranks are compared with."""

    attempt: int
    now_ns: int
    median_step: int
    limit_s: float
    ranks: int


def silent(
    pulses: Sequence[RankPulse],
    attempt: int,
    now_ns: int,
    standing: Collection[str] = (),
    policy: SilencePolicy = DEFAULT_POLICY,
) -> list[Finding]:
    """A warning for each rank that is silent, or for the host all of whose ranks are.

    now_ns: everything that arrived before it is known. standing: keys of what was told and is not
    over; it takes less to stay silent than to become so. O(n log n).
    """
    newest_ns = max((pulse.time_ns for pulse in pulses), default=0)
    if len(pulses) < policy.min_ranks or now_ns - newest_ns > policy.dead_s * _NS:
        return []
    paces = [pulse.pace_ns for pulse in pulses if pulse.pace_ns is not None]
    pace_s = float(np.median(paces)) / _NS if paces else 0.0
    limit_s = max(policy.behind_s, policy.behind_paces * pace_s)
    median_step = int(np.sort([pulse.step for pulse in pulses])[len(pulses) // 2])
    crowd = _Crowd(attempt, now_ns, median_step, limit_s, len(pulses))
    told = {key.rpartition(":s")[0] for key in standing}
    behind = [pulse for pulse in pulses if _is_behind(pulse, crowd, told)]
    if 2 * len(behind) >= len(pulses):
        return []
    groups = _groups(behind, pulses)
    if len(groups) > policy.most:
        return [_of_many(behind, crowd)]
    return [_finding(group, crowd, standing) for group in groups]


def on_one_clock(pulses: Iterable[RankPulse], clocks: Iterable[HostClock]) -> list[RankPulse]:
    """The pulses in the time of the job: a host whose clock is three minutes slow is not silent,
    and one whose clock is fast is not heard after it died. Clocks in doubt change nothing."""
    ahead_ns = {clock.node: clock.skew_ns or 0 for clock in clocks if clock.apart}
    return [replace(pulse, time_ns=pulse.time_ns - ahead_ns.get(pulse.node, 0)) for pulse in pulses]


def steps_behind(steps: Iterable[int | None]) -> int | None:
    """The median of the last steps of the ranks that said one; None if fewer than four did."""
    known = sorted(step for step in steps if step is not None)
    return known[len(known) // 2] if len(known) >= DEFAULT_POLICY.min_ranks else None


def _is_behind(pulse: RankPulse, crowd: _Crowd, told: Collection[str]) -> bool:
    known = _name(crowd.attempt, pulse) in told or _name(crowd.attempt, pulse, host=True) in told
    limit_s = crowd.limit_s / 2 if known else crowd.limit_s
    quiet_s = (crowd.now_ns - pulse.time_ns) / _NS
    return pulse.step < crowd.median_step and quiet_s >= limit_s


def _name(attempt: int, pulse: RankPulse, *, host: bool = False) -> str:
    return f"{KIND}:a{attempt}:{f'n{pulse.node}' if host else f'r{pulse.rank}'}"


def _groups(behind: Sequence[RankPulse], pulses: Sequence[RankPulse]) -> list[list[RankPulse]]:
    """Single ranks, and all ranks of a host together where none of them is heard."""
    of_host: dict[str, list[RankPulse]] = {}
    for pulse in sorted(behind, key=lambda pulse: pulse.rank):
        of_host.setdefault(pulse.node, []).append(pulse)
    size: dict[str, int] = {}
    for pulse in pulses:
        size[pulse.node] = size.get(pulse.node, 0) + 1
    found: list[list[RankPulse]] = []
    for node, group in of_host.items():
        whole = node and len(group) > 1 and len(group) == size[node]
        found += [group] if whole else [[pulse] for pulse in group]
    return found


def _finding(group: Sequence[RankPulse], crowd: _Crowd, standing: Collection[str]) -> Finding:
    first = min(group, key=lambda pulse: (pulse.step, pulse.time_ns))
    host = len(group) > 1
    name = _name(crowd.attempt, first, host=host)
    key = next((k for k in standing if k.rpartition(":s")[0] == name), f"{name}:s{first.step}")
    rank = None if host else first.rank
    who = f"all {len(group)} ranks of {first.node}" if host else f"rank {first.rank}"
    return _said(key, crowd, first, (who, rank))


def _of_many(behind: Sequence[RankPulse], crowd: _Crowd) -> Finding:
    first = min(behind, key=lambda pulse: (pulse.step, pulse.rank))
    who = f"{many(len(behind), 'rank')} of {crowd.ranks:,}"
    return _said(f"{KIND}:a{crowd.attempt}:many", crowd, first, (who, None))


def _said(key: str, crowd: _Crowd, first: RankPulse, who: tuple[str, int | None]) -> Finding:
    name, rank = who
    title = f"{name} silent since step {first.step:,}; the others are at step "
    title += f"{crowd.median_step:,}"
    evidence = _evidence(crowd, first, who)
    of_many = key.endswith(":many")
    suspects = (
        () if of_many else (Suspect(rank, first.node or None, "hang_no_error", 0.4, evidence),)
    )
    return Finding(
        key=key,
        detector=DETECTOR,
        kind=KIND,
        severity=FindingSeverity.WARN,
        attempt=crowd.attempt,
        onset_step=first.step,
        onset_time_ns=first.time_ns,
        seen_step=crowd.median_step,
        seen_time_ns=crowd.now_ns,
        title=title,
        rank=rank,
        node=None if of_many else first.node or None,
        evidence=evidence,
        suspects=suspects,
        facts={
            "last_step": first.step,
            "median_step": crowd.median_step,
            "limit_s": crowd.limit_s,
            "ranks": crowd.ranks,
        },
    )


def _evidence(crowd: _Crowd, first: RankPulse, who: tuple[str, int | None]) -> tuple[Evidence, ...]:
    name, rank = who
    quiet = duration((crowd.now_ns - first.time_ns) / _NS)
    said = f"{name} said step {first.step:,} last, {quiet} ago; the median of {crowd.ranks:,} "
    said += f"ranks is step {crowd.median_step:,}"
    look = "either it hangs, or its lines do not arrive: look at the process and at the agent of "
    look += "its host"
    return (
        Evidence(said, first.time_ns, first.step, rank, first.node or None),
        Evidence(look, crowd.now_ns, weight=0),
    )
