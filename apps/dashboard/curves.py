"""Curves cut into what counts and what was given up, on a step or a time axis. Values only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WHISKER_MAD = 8.0
"""A bucket whose min or max is this many MADs off the band gets a whisker."""
CLIP_RATIO = 40.0
"""Values further off than this many (p99 - p1) widths are clipped, and counted."""
WARM_UP_RATIO = 0.05
"""The start of a run does not set the range: its high loss would flatten all that follows."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One series of one attempt, in buckets, oldest first.

    step, time_ns: of the last point of a bucket. low, high, last: finite values.
    nonfinite: (step, "NaN" | "Infinity" | "-Infinity").
    """

    attempt: int
    step: Sequence[int]
    time_ns: Sequence[int]
    low: Sequence[float]
    high: Sequence[float]
    last: Sequence[float]
    nonfinite: Sequence[tuple[int, str]]
    stored: int
    drawn: int
    bucket_steps: int
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """The one x axis. kind: "step" or "time" (Unix ms). start < end, in units of the kind."""

    kind: str
    start: float
    end: float
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a curve ready to draw. kept: still part of the run's history."""

    attempt: int
    kept: bool
    x: list[float]
    low: list[float]
    high: list[float]
    last: list[float]


def to_x(curve: Curve, kind: str) -> list[float]:
    """The curve's x values on an axis of `kind`."""
    if kind == "time":
        return [t / 1e6 for t in curve.time_ns]
    return [float(s) for s in curve.step]


def pieces(curve: Curve, bound: int | None, kind: str) -> list[Piece]:
    """The kept piece, then the abandoned one (which starts at the last kept point)."""
    x = to_x(curve, kind)
    cut = len(x) if bound is None else int(np.searchsorted(np.asarray(curve.step), bound))
    found = []
    for kept, part in ((True, slice(0, cut)), (False, slice(max(0, cut - 1), None))):
        if x[part] and (kept or cut < len(x)):
            found.append(
                Piece(
                    curve.attempt,
                    kept,
                    x[part],
                    list(curve.low[part]),
                    list(curve.high[part]),
                    list(curve.last[part]),
                )
            )
    return found


def whiskers(piece: Piece) -> list[tuple[float, float, float]]:
    """(x, low, high) of buckets whose extremes leave the band of their neighbours."""
    spread = np.asarray(piece.high) - np.asarray(piece.low)
    if len(spread) < 8:
        return []
    middle = float(np.median(spread))
    mad = float(np.median(np.abs(spread - middle)))
    limit = middle + WHISKER_MAD * max(mad, middle * 0.1, 1e-12)
    return [
        (piece.x[i], piece.low[i], piece.high[i]) for i in np.flatnonzero(spread > limit).tolist()
    ]


@dataclass(frozen=True, slots=True)
class Range:
    """What a y axis shows, and how many values lie outside."""

    low: float
    high: float
    clipped: int


def value_range(values: Sequence[float]) -> Range | None:
    """The range of finite values with a little room; None without any.

    One absurd value (1e308) must not flatten the rest: it is clipped, and counted.
    """
    array = np.asarray(values, dtype=np.float64)
    array = array[np.isfinite(array)]
    if not len(array):
        return None
    low, p1, p99, high = np.percentile(array, [0, 1, 99, 100]).tolist()
    width = max(p99 - p1, abs(p99) * 1e-3, 1e-12)
    top = high if high - p99 <= CLIP_RATIO * width else p99 + width
    bottom = low if p1 - low <= CLIP_RATIO * width else p1 - width
    pad = max((top - bottom) * 0.06, abs(top) * 1e-3, 1e-12)
    clipped = int(np.count_nonzero((array > top) | (array < bottom)))
    return Range(bottom - pad, top + pad, clipped)


def warmed_up(cut: Sequence[Piece], start: float, end: float) -> list[float]:
    """Low and high values of all pieces but for the first moments of the first attempt.

    Everything, when that would leave nothing or the view starts later.
    """
    after = start + (end - start) * WARM_UP_RATIO
    first = min((p.attempt for p in cut), default=0)
    kept = [
        value
        for p in cut
        for x, low, high in zip(p.x, p.low, p.high, strict=True)
        if p.attempt > first or x >= after
        for value in (low, high)
    ]
    return kept or [value for p in cut for value in (*p.low, *p.high)]


def whole_range(values: Sequence[float]) -> Range | None:
    """The range of all finite values with a little room: nothing is clipped."""
    array = np.asarray(values, dtype=np.float64)
    array = array[np.isfinite(array)]
    if not len(array):
        return None
    low, high = float(array.min()), float(array.max())
    # Half of each first: the distance of two values may be larger than any double.
    pad = max((high / 2 - low / 2) * 0.12, abs(high) * 1e-3, 1e-12)
    limit = 1.7e308
    return Range(max(low - pad, -limit), min(high + pad, limit), 0)


def smoothed(values: Sequence[float], weight: float) -> list[float]:
    """Exponential moving average of what is drawn, without a pull to zero at its start.

    weight: of what came before, 0 (no smoothing) to below 1. Finite values in, as many out.
    """
    found, total, norm = [], 0.0, 0.0
    for value in values:
        total = total * weight + value * (1.0 - weight)
        norm = norm * weight + (1.0 - weight)
        found.append(total / norm)
    return found


def beyond(piece: Piece, shown: Range, *, log: bool) -> tuple[list[float], list[float]]:
    """x of the buckets whose line lies above, and of those below, what the axis shows.

    log: the range is in exponents of ten; what has no logarithm lies below.
    """
    array = np.asarray(piece.last, dtype=np.float64)
    if log:
        array = np.log10(np.where(array > 0, array, 1e-320))
    x = np.asarray(piece.x, dtype=np.float64)
    return x[array > shown.high].tolist(), x[array < shown.low].tolist()


def outside(values: Sequence[float], shown: Range) -> int:
    """How many values the axis does not show."""
    array = np.asarray(values, dtype=np.float64)
    return int(np.count_nonzero((array > shown.high) | (array < shown.low)))


def log_range(values: Sequence[float], *, clip: bool = True) -> Range | None:
    """The same for a log axis, as exponents of ten; values <= 0 count as clipped."""
    positive = [v for v in values if math.isfinite(v) and v > 0]
    exponents = [math.log10(v) for v in positive]
    found = value_range(exponents) if clip else whole_range(exponents)
    if found is None:
        return None
    return Range(found.low, found.high, found.clipped + len(values) - len(positive))


def log_ticks(shown: Range) -> list[float]:
    """1-2-5 values inside a log range; only powers of ten when it spans more than two decades."""
    factors = (1.0, 2.0, 5.0) if shown.high - shown.low <= 2.2 else (1.0,)
    powers = range(math.floor(shown.low), math.ceil(shown.high) + 1)
    found = [factor * 10.0**power for power in powers for factor in factors]
    inside = [value for value in found if shown.low <= math.log10(value) <= shown.high]
    return inside[:: max(1, math.ceil(len(inside) / 6))]


def nice_step(width: float, count: int) -> float:
    """The 1-2-5 step that gives at most `count` ticks over `width`."""
    raw = width / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    for factor in (1, 2, 5, 10):
        if factor * power >= raw:
            return factor * power
    return 10 * power


_TIME_STEPS_MS = [
    s * 1000.0
    for s in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
]


def ticks(kind: str, start: float, end: float, count: int) -> tuple[float, ...]:
    """Tick places inside [start, end], at multiples of the step: a refresh does not wobble."""
    if kind == "time":
        raw = (end - start) / max(1, count)
        step = next((s for s in _TIME_STEPS_MS if s >= raw), nice_step(end - start, count))
    else:
        step = max(1.0, nice_step(end - start, count))
    first = math.ceil(start / step)
    return tuple(i * step for i in range(first, math.floor(end / step) + 1))


def axis(kind: str, span: tuple[float, float], count: int, *, exact: bool) -> Axis:
    """An axis over `span`; unless exact, with room for the next points on the right."""
    start, end = span
    if end <= start:
        end = start + (10.0 if kind == "step" else 10_000.0)
    if not exact:
        room = nice_step(end - start, 20)
        end = (math.floor((end + 0.25 * room) / room) + 1) * room
    return Axis(kind, start, end, ticks(kind, start, end, count))


def step_to_time_ms(curves: Sequence[Curve], attempt: int, steps: Sequence[float]) -> list[float]:
    """Unix ms of steps of one attempt, by interpolation; empty if its times are unknown."""
    for curve in curves:
        if curve.attempt == attempt and len(curve.step):
            times = np.asarray(curve.time_ns, dtype=np.float64) / 1e6
            found: list[float] = np.interp(steps, np.asarray(curve.step), times).tolist()
            return found
    return []


def time_to_step(curves: Sequence[Curve], time_ns: int) -> float | None:
    """The step a moment fell on: of the newest attempt that ran then, else the nearest end."""
    best: tuple[float, float] | None = None
    for curve in curves:
        if not len(curve.step):
            continue
        times = np.asarray(curve.time_ns, dtype=np.float64)
        off = max(float(times[0]) - time_ns, time_ns - float(times[-1]), 0.0)
        step = float(np.interp(float(time_ns), times, np.asarray(curve.step)))
        if best is None or off <= best[0]:
            best = (off, step)
    return best[1] if best else None


def clusters(x: Sequence[float], gap: float) -> list[tuple[float, int]]:
    """(middle, count) of neighbours less than `gap` apart. x ascending."""
    found: list[list[float]] = []
    for at in x:
        if found and at - found[-1][-1] < gap:
            found[-1].append(at)
        else:
            found.append([at])
    return [((group[0] + group[-1]) / 2, len(group)) for group in found]


def caption(curves: Sequence[Curve], clipped: int = 0, whisker_count: int = 0) -> str:
    """One sentence: drawn of stored points, what band and line mean, what is not on the plot."""
    stored, drawn = sum(c.stored for c in curves), sum(c.drawn for c in curves)
    bucket = max((c.bucket_steps for c in curves), default=1)
    nonfinite = sum(len(c.nonfinite) for c in curves)
    parts = [f"{drawn:,} of {stored:,} points"]
    if bucket > 1:
        parts.append(f"{bucket} steps a point: band from min to max, line the last")
    parts.append(f"{nonfinite:,} NaN/Inf" if nonfinite else "no NaN")
    if clipped:
        parts.append(f"{clipped:,} clipped at the edge")
    if whisker_count:
        one = "1 point far beyond the band, drawn as a whisker"
        many = f"{whisker_count:,} points far beyond the band, drawn as whiskers"
        parts.append(one if whisker_count == 1 else many)
    return " · ".join(parts)
