"""What rows around an onset say: learning rate, another pass over the same steps, what is left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from apps.core.records import Finding
from apps.incidents.domain.clues import RateSeen, ScaleSeen, WeightsSeen
from apps.incidents.domain.movers import Mover
from apps.incidents.domain.summary import telling
from apps.metrics.domain.blocks import Floats, Ints
from apps.metrics.domain.changes import ChangePolicy, Track, jump
from apps.metrics.domain.layer_statistics import statistic_of
from apps.metrics.domain.reference import Reference


@dataclass(frozen=True, slots=True)
class LookPolicy:
    """Rows are logged rows.

    window_steps: so far around the onset another pass is looked at, on both sides: a batch shows at
    its step or the next one. peak_steps: at most so far behind the onset, to the furthest value.
    outlier_z, outlier_excess: what counts as an outlier in logs of healthy runs (320 in 441,000
    rows are beyond z = 8). reference_rows, min_rows: of the past that is compared with.
    calm_rows: a learning rate that did not rise over so many rows is past its warm-up. rise_ratio:
    smaller rises are no cause: schedules differ by as much. jump_rows: rows before the onset in
    which a jump is sought. near_steps: in which values that are no numbers are counted. tail_rows:
    the newest ones, whose median says what is left. weights_z: norms of weights that drift leave
    their band at 6 to 18 robust standard deviations, corrupted ones at 245 and 1,225 (own runs).
    """

    window_steps: int = 2
    peak_steps: int = 20
    outlier_z: float = 8.0
    outlier_excess: float = 0.03
    reference_rows: int = 200
    min_rows: int = 30
    calm_rows: int = 20
    rise_ratio: float = 1.25
    jump_rows: int = 100
    near_steps: int = 100
    tail_rows: int = 5
    weights_z: float = 50.0


DEFAULT_POLICY = LookPolicy()
Series = tuple[Ints, Ints, Floats]
"""(step, time_ns, value), by step."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The furthest value of a window: its step, z against the rows before, whether it is out."""

    step: int
    z: float
    outlier: bool


def window(
    findings: Sequence[Finding], onset: int, policy: LookPolicy = DEFAULT_POLICY
) -> tuple[int, int]:
    """The steps at which another pass would show the same outlier, both included."""
    peak = telling(findings).facts.get("peak_step")
    far = peak if isinstance(peak, int) and peak >= onset else onset
    last = min(far, onset + policy.peak_steps)
    return onset - policy.window_steps, last + policy.window_steps


def judge(
    series: Series, steps: tuple[int, int], policy: LookPolicy = DEFAULT_POLICY
) -> Judged | None:
    """The furthest value within `steps` in either direction; one that is no number is infinite.

    None without a row in there, or with fewer than `min_rows` finite ones before.
    """
    step, value = np.asarray(series[0]), np.asarray(series[2], np.float64)
    first, last = step.searchsorted(steps[0]), step.searchsorted(steps[1], side="right")
    past = value[:first][np.isfinite(value[:first])][-policy.reference_rows :]
    if first == last or len(past) < policy.min_rows:
        return None
    reference = Reference()
    for known in past:
        reference.push(float(known))
    band = reference.band(policy.min_rows - 1)
    if band is None:
        return None
    inside = value[first:last]
    odd = ~np.isfinite(inside)
    if odd.any():
        return Judged(int(step[first + int(odd.argmax())]), math.inf, True)
    at = int(np.abs(inside - band.level).argmax())
    found = float(inside[at])
    z, excess = band.z(found), abs(band.excess(found))
    out = abs(z) > policy.outlier_z and excess > policy.outlier_excess
    return Judged(int(step[first + at]), z, out)


def rate_seen(
    series: Series, steps: tuple[int, int], slack: int, policy: LookPolicy = DEFAULT_POLICY
) -> RateSeen | None:
    """The learning rate around an onset; None if it is not logged before it.

    steps: the onset, and where the last finding was seen: a slow rise shows later than what it
    does. A jump within `slack` steps of the onset, else the rise from the last value that it had
    without rising for `calm_rows` rows; it must have begun by the onset. A linear warm-up never had
    such a value, so it is no rise.
    """
    step, value = np.asarray(series[0]), np.asarray(series[2], np.float64)
    step, value = step[np.isfinite(value)], value[np.isfinite(value)]
    near = int(step.searchsorted(steps[0] + slack, side="right"))
    if not near:
        return None
    jump = _jump(step[:near], value[:near], policy)
    if jump is not None and abs(jump[0] - steps[0]) <= slack:
        at, before, after = jump
        return RateSeen(before, after, jump_step=at)
    jump_step = jump[0] if jump else None
    rise = _rise(value[: int(step.searchsorted(steps[1], side="right"))], near, policy)
    if rise is not None:
        return RateSeen(*rise, jump_step=jump_step, rising=True)
    return RateSeen(float(value[0]), float(value[near - 1]), jump_step=jump_step)


def _rise(value: Floats, near: int, policy: LookPolicy) -> tuple[float, float] | None:
    """(before, after) of a rise to a new height that began within the first `near` rows."""
    calm = policy.calm_rows
    if len(value) <= calm:
        return None
    flat = calm + np.flatnonzero(value[calm:] <= value[:-calm])
    if not len(flat) or flat[-1] >= near:
        return None
    before, after = float(value[flat[-1]]), float(value[-1])
    new_height = after > policy.rise_ratio * before and after >= value.max()
    return (before, after) if new_height else None


def _jump(step: Ints, value: Floats, policy: LookPolicy) -> tuple[int, float, float] | None:
    """(step, before, after) of the last jump that no schedule explains."""
    state, found = Track(), None
    for at in range(max(0, len(value) - policy.jump_rows), len(value)):
        before = jump(state, float(value[at]), ChangePolicy())
        if before is not None:
            found = int(step[at]), before, float(value[at])
    return found


def scale_seen(series: Series, onset: int, policy: LookPolicy = DEFAULT_POLICY) -> ScaleSeen | None:
    """The loss scale around the onset: its highest value, and its lowest from there on."""
    value = _near(series, onset, policy)
    value = value[np.isfinite(value) & (value > 0)]
    if not len(value):
        return None
    highest = int(value.argmax())
    return ScaleSeen(float(value[highest]), float(value[highest:].min()))


def nonfinite_rows(
    several: Sequence[Series], onset: int, policy: LookPolicy = DEFAULT_POLICY
) -> int | None:
    """How many values near the onset are no numbers; None if none of the series is logged there."""
    found = [_near(series, onset, policy) for series in several]
    if not any(len(value) for value in found):
        return None
    return sum(int((~np.isfinite(value)).sum()) for value in found)


def _near(series: Series, onset: int, policy: LookPolicy) -> Floats:
    step = np.asarray(series[0])
    first = step.searchsorted(onset - policy.near_steps)
    last = step.searchsorted(onset + policy.near_steps, side="right")
    return np.asarray(series[2], np.float64)[first:last]


def weights_seen(
    movers: Sequence[Mover], keys: Iterable[str], onset: int, policy: LookPolicy = DEFAULT_POLICY
) -> WeightsSeen | None:
    """The norm of weights that moved with the onset, and whether an update did so before it.

    None if none moved. movers: of the incident. keys: all series of the run.
    """
    near = [m for m in movers if m.step <= onset + policy.window_steps and m.rank is None]
    moved = [m for m in near if _measures(m.series, _WEIGHTS) and _jumped(m, policy)]
    if not moved:
        return None
    first = min(moved, key=lambda m: m.step)
    logged = any(_measures(key, _UPDATES) for key in keys)
    updated = any(_measures(m.series, _UPDATES) and m.step <= first.step for m in near)
    return WeightsSeen(first.words or first.series, first.step, updated if logged else None)


def _jumped(mover: Mover, policy: LookPolicy) -> bool:
    return mover.z is None or abs(mover.z) >= policy.weights_z


_WEIGHTS = frozenset({"weight_norm", "weight_rms", "weight_max", "weight_std", "weight_mean"})
_UPDATES = frozenset({"update_norm", "update_ratio"})


def _measures(series: str, slugs: frozenset[str]) -> bool:
    """Whether one part of the name of a series is one of these statistics."""
    return any(statistic_of(part) in slugs for part in series.split("/"))


def left_ratio(
    findings: Sequence[Finding], tail: Floats, policy: LookPolicy = DEFAULT_POLICY
) -> float | None:
    """What is left of the furthest excess: 0 at the level before, 1 at the peak; 1 for NaN.

    tail: the newest losses. None if the finding names no level and peak, or nothing was logged.
    """
    facts = telling(findings).facts
    before, peak = facts.get("before"), facts.get("peak")
    if not (isinstance(before, int | float) and isinstance(peak, int | float)):
        return None
    if not len(tail) or peak == before:
        return None
    newest = float(np.median(np.asarray(tail, np.float64)[-policy.tail_rows :]))
    return (newest - before) / (peak - before) if math.isfinite(newest) else 1.0
