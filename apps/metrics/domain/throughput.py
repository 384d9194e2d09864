"""Is the training slower than it was? One series of speed against its own recent past.

Causal, with a bounded state that can be stored. A row is an observation, not a clock: pauses for
evaluations and saves are single rows or none, and never enough of them in a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from apps.core.records import Evidence, Finding, FindingSeverity
from apps.core.robust import center_and_scale
from apps.core.words import duration, number
from apps.metrics.domain.planned import PlannedChange, explaining

DETECTOR = "metrics.throughput"
KIND = "throughput_drop"
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ThroughputPolicy:
    """When a speed is a drop.

    drop: slower by this share (Google's ML Diagnostics starts its analysis at a 15 % fall of the
    duty cycle), and by noise robust standard deviations of the run's own past. slow_rows of the
    last rows must be slow, for at least lasting_s: a straggler of a minute is gone before anybody
    looks. page_drop, page_s: half of the cluster is lost for half an hour; less can wait for the
    morning. start_rows: first rows of an attempt, which compile and warm caches. window: rows that
    tell what is usual; min_rows of them before the first verdict. settle_rows: a drop that lasts
    longer is the new usual, and its finding stays open until somebody resolves it. level_rows: what
    is usual is computed every so many rows; it moves slowly.
    """

    drop: float = 0.15
    noise: float = 4.0
    rows: int = 12
    slow_rows: int = 10
    lasting_s: float = 300.0
    page_drop: float = 0.5
    page_s: float = 1_800.0
    start_rows: int = 5
    window: int = 240
    min_rows: int = 30
    settle_rows: int = 480
    level_rows: int = 8


DEFAULT_POLICY = ThroughputPolicy()


@dataclass(frozen=True, slots=True)
class SpeedSeries:
    """name: as logged. inverted: seconds a step instead of tokens a second: higher is slower."""

    name: str
    inverted: bool


class SpeedRow(msgspec.Struct, frozen=True, array_like=True):
    """speed: higher is faster, whatever the series counts."""

    step: int
    time_ns: int
    speed: float


class Drop(msgspec.Struct):
    """A stretch of slow rows. told: a finding was made of it, as loud as this; "": not yet.
    slowest: the lowest speed over some rows since then."""

    step: int
    time_ns: int
    usual: float
    told: str = ""
    rows: int = 0
    slowest: float = math.inf


class Size(msgspec.Struct):
    """A logged size, and for how many rows it has been the same."""

    value: float
    rows: int = 1


class ThroughputState(msgspec.Struct):
    """rows: of the attempt so far. usual: earlier speeds, oldest first. recent: the last rows.
    level: their median and robust scale. sizes: kind -> newest logged size; changed: the last
    changes of one."""

    series: str = ""
    attempt: int = 0
    step: int | None = None
    rows: int = 0
    usual: list[float] = []
    recent: list[SpeedRow] = []
    drop: Drop | None = None
    level: tuple[float, float] | None = None
    sizes: dict[str, Size] = {}
    changed: list[PlannedChange] = []


SIZES = ("batch_size", "sequence_length")
"""Roles of logged series whose changes explain another speed; kinds of planned changes too."""
KEPT_CHANGES = 4
STEADY_ROWS = 20
"""A size that changes more often than this is no setting: its changes explain nothing."""


def note_sizes(
    state: ThroughputState, logged: Mapping[str, Iterable[tuple[int, int, float]]]
) -> None:
    """Remembers where a logged size changed. logged: kind -> (step, time_ns, value) by step."""
    for kind, rows in logged.items():
        for step, _, value in rows:
            if not math.isfinite(value) or (state.step is not None and step <= state.step):
                continue
            size = state.sizes.setdefault(kind, Size(value, 0))
            if value == size.value:
                size.rows += 1
                continue
            if size.rows >= STEADY_ROWS:
                text = f"{number(size.value)} -> {number(value)}"
                state.changed.append(PlannedChange(kind, step, None, text, "logged"))
            state.sizes[kind] = Size(value)
    del state.changed[:-KEPT_CHANGES]


def begin(parent: ThroughputState | None, series: str, attempt: int) -> ThroughputState:
    """The state of a new attempt; what was usual before it still is, if the series is the same."""
    same = parent is not None and parent.series == series
    usual = [*parent.usual, *(r.speed for r in parent.recent)] if parent and same else []
    if parent and same and parent.drop is not None:
        usual = list(parent.usual)
    sizes = dict(parent.sizes) if parent else {}
    return ThroughputState(series, attempt, usual=usual, sizes=sizes)


def feed(
    state: ThroughputState,
    series: SpeedSeries,
    rows: Iterable[tuple[int, int, float]],
    planned: Sequence[PlannedChange] = (),
    policy: ThroughputPolicy = DEFAULT_POLICY,
) -> list[Finding]:
    """Findings that opened, grew louder or ended; changes the state.

    rows: (step, time_ns, value) by step. Those at or before the newest one that was judged, and
    values that are no positive numbers, are left out. About 25 us a row.
    """
    found: dict[str, Finding] = {}
    planned = [*planned, *state.changed]
    for step, time_ns, value in rows:
        late = state.step is not None and step <= state.step
        if late or not math.isfinite(value) or value <= 0:
            continue
        state.step, state.rows = step, state.rows + 1
        if state.rows <= policy.start_rows:
            continue
        row = SpeedRow(step, time_ns, 1.0 / value if series.inverted else value)
        finding = _judge(state, series, row, planned, policy)
        if finding is not None:
            found[finding.key] = finding
    return list(found.values())


def _judge(
    state: ThroughputState,
    series: SpeedSeries,
    row: SpeedRow,
    planned: Sequence[PlannedChange],
    policy: ThroughputPolicy,
) -> Finding | None:
    _remember(state, row, policy)
    if len(state.usual) < policy.min_rows or len(state.recent) < policy.rows:
        return None
    usual, line = _line(state, policy)
    slow = [r for r in state.recent if r.speed < line]
    drop = state.drop
    if drop is None:
        if len(slow) >= policy.slow_rows:
            state.drop = Drop(slow[0].step, slow[0].time_ns, usual)
        return None
    drop.rows += 1
    if len(slow) <= policy.rows - policy.slow_rows:
        state.drop = None
        return _finding(state, series, drop, row, "over") if drop.told else None
    if drop.rows > policy.settle_rows:
        _settle(state)
        return None
    return _grown(state, series, row, planned, policy)


def _remember(state: ThroughputState, row: SpeedRow, policy: ThroughputPolicy) -> None:
    """The oldest of the last rows becomes usual, unless a drop is being watched."""
    state.recent.append(row)
    if len(state.recent) > policy.rows:
        oldest = state.recent.pop(0)
        if state.drop is None:
            state.usual.append(oldest.speed)
            del state.usual[: -policy.window]


def _line(state: ThroughputState, policy: ThroughputPolicy) -> tuple[float, float]:
    """(usual speed, below it a row is slow)."""
    if state.level is None or state.rows % policy.level_rows == 0:
        state.level = center_and_scale(np.asarray(state.usual))
    usual, scale = state.level
    if state.drop is not None:
        usual = state.drop.usual
    return usual, usual - max(policy.drop * usual, policy.noise * scale)


def _grown(
    state: ThroughputState,
    series: SpeedSeries,
    row: SpeedRow,
    planned: Sequence[PlannedChange],
    policy: ThroughputPolicy,
) -> Finding | None:
    """The finding of a drop that has lasted, if it is new or louder."""
    drop = state.drop
    if drop is None:
        return None
    lasts_s = (row.time_ns - drop.time_ns) / _NS
    if lasts_s < policy.lasting_s:
        return None
    drop.slowest = min(drop.slowest, _speed_now(state))
    change = explaining(planned, drop.step)
    if change is not None:
        _settle(state)
        return _finding(state, series, drop, row, "info", change)
    far = 1.0 - _speed_now(state) / drop.usual >= policy.page_drop and lasts_s >= policy.page_s
    loud = "page" if far else "warn"
    if drop.told in (loud, "page"):
        return None
    drop.told = loud
    return _finding(state, series, drop, row, loud)


def _settle(state: ThroughputState) -> None:
    """The new speed is what is usual from now on."""
    state.usual, state.drop, state.level = [r.speed for r in state.recent], None, None


def _speed_now(state: ThroughputState) -> float:
    return float(np.median([r.speed for r in state.recent]))


def _finding(
    state: ThroughputState,
    series: SpeedSeries,
    drop: Drop,
    row: SpeedRow,
    how: str,
    change: PlannedChange | None = None,
) -> Finding:
    """how: info, warn, page, or "over"."""
    over = how in ("over", "info")
    lost = 1.0 - drop.slowest / drop.usual
    lasts = duration((row.time_ns - drop.time_ns) / _NS)
    title = f"training is {100 * lost:.0f} % slower since step {drop.step:,}"
    if how == "over":
        title = f"training was slower from step {drop.step:,} to {row.step:,}, for {lasts}"
    return Finding(
        key=f"throughput:a{state.attempt}:s{drop.step}",
        detector=DETECTOR,
        kind=KIND,
        severity=FindingSeverity(drop.told if how == "over" else how),
        attempt=state.attempt,
        onset_step=drop.step,
        onset_time_ns=drop.time_ns,
        seen_step=row.step,
        seen_time_ns=row.time_ns,
        title=title,
        series=series.name,
        closed_step=row.step if over else None,
        closed_time_ns=row.time_ns if over else None,
        evidence=_evidence(series, drop, row, change),
        facts={
            "before": _logged(series, drop.usual),
            "value": _logged(series, drop.slowest),
            "lost_ratio": lost,
            "rule": "10 of 12 rows",
            **({"planned": change.words} if change else {}),
        },
    )


def _evidence(
    series: SpeedSeries, drop: Drop, row: SpeedRow, change: PlannedChange | None
) -> tuple[Evidence, ...]:
    before, value = _logged(series, drop.usual), _logged(series, drop.slowest)
    rule = (
        f"{series.name}: usually {number(before)}, then {number(value)}, for "
        f"{duration((row.time_ns - drop.time_ns) / _NS)};"
        " 10 of the last 12 rows are 15 % and 4 robust standard deviations slower"
    )
    seen = Evidence(rule, row.time_ns, row.step)
    if change is None:
        return (seen,)
    return seen, Evidence(f"planned: {change.words}", step=drop.step, weight=-1)


def _logged(series: SpeedSeries, speed: float) -> float:
    """A speed in the unit of its series."""
    return 1.0 / speed if series.inverted else speed
