"""Other runs beside the curves of one: what each kept, moved onto the axis of this run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apps.dashboard import series
from apps.dashboard.curves import Curve, pieces
from apps.dashboard.deck_ask import DeckAsk
from apps.dashboard.figures import Beside
from apps.dashboard.lineage import kept_until
from apps.metrics import naming
from apps.metrics import store as metrics
from apps.runs import store as runs
from apps.runs.records import RunInfo

Floats = NDArray[np.float64]
TOKEN_POINTS = 400


@dataclass(frozen=True, slots=True)
class Track:
    """What of a run still counts, as three clocks that run side by side, all ascending.

    step, elapsed_ms: since its first point. tokens: seen so far, empty where nobody logs them.
    """

    step: Floats
    elapsed_ms: Floats
    tokens: Floats


def track(curves: Sequence[Curve], kept: dict[int, int | None], tokens: Floats) -> Track:
    """The clocks along the kept pieces. tokens: (steps, counts) as two rows, or empty.

    Where a run stood still between two attempts, its elapsed time did not: only training counts.
    """
    steps: list[float] = []
    times: list[float] = []
    gone = 0.0
    for curve in curves:
        for piece in pieces(curve, kept.get(curve.attempt), "time"):
            if piece.kept:
                own = pieces(curve, kept.get(curve.attempt), "step")[0]
                steps += own.x
                times += [gone + at - piece.x[0] for at in piece.x]
                gone = times[-1]
    step = np.asarray(steps, dtype=np.float64)
    elapsed = np.maximum.accumulate(np.asarray(times, dtype=np.float64)) if times else step
    counted = np.interp(step, tokens[0], tokens[1]) if tokens.size else np.zeros(0)
    return Track(step, elapsed, counted)


def aligned(other: Track, mine: Track, align: str) -> tuple[Floats, NDArray[np.bool_]] | None:
    """This run's step at which it was as far as the other at each of its points, and which of them
    this run has reached. None where one of them logs no tokens."""
    if align == "step":
        return other.step, np.ones(len(other.step), np.bool_)
    here, there = (
        (mine.tokens, other.tokens) if align == "tokens" else (mine.elapsed_ms, other.elapsed_ms)
    )
    if not len(here) or not len(there):
        return None
    return np.interp(there, here, mine.step), (there >= here[0]) & (there <= here[-1])


@dataclass(frozen=True, slots=True)
class _Other:
    """A run to draw beside this one. keys: row -> its series. kept: see lineage.py.

    own, mine: its steps, and the steps of this run at which this one was as far, both ascending;
    only what this run has reached.
    """

    run: RunInfo
    keys: dict[str, str]
    kept: dict[int, int | None]
    own: Floats
    mine: Floats


def others(
    run: RunInfo, ask: DeckAsk, spine: Sequence[Curve], steps: tuple[int | None, int | None]
) -> tuple[dict[str, list[Beside]], list[str]]:
    """row -> curves of the asked runs; and in words which of them are not shown, and why.

    steps: of this run, that are in view; the others are read where they were as far.
    """
    found: dict[str, list[Beside]] = {}
    missing: list[str] = []
    kept = dict(kept_until(runs.attempts(run.id)))
    mine, times = track(spine, kept, _tokens(run.id, ask.align)), clock(spine, kept)
    for key in ask.others:
        info = runs.get_run(key)
        if info is None or info.id == run.id:
            missing.append(f"{key}: no such run")
            continue
        other = _other(info, ask, mine)
        if other is None:
            reason = "logs no tokens" if ask.align == "tokens" else "logs nothing of the kind"
            missing.append(f"{key}: it or this run {reason}")
            continue
        for row, curves in _rows(other, ask, steps).items():
            found.setdefault(row, []).append(_placed(other, curves, ask, times))
    return found, missing


def _other(info: RunInfo, ask: DeckAsk, mine: Track) -> _Other | None:
    """The run with its clock beside that of this run, from the first of its series with points;
    None where it has none, or one of both logs no tokens."""
    shown = series.shown(info.id)
    keys = {row: key for row in series.ROWS if (key := getattr(shown, row))}
    kept = dict(kept_until(runs.attempts(info.id)))
    for key in keys.values():
        curves = _read(info.id, [key], (None, None), ask.points)[key]
        if curves:
            clocks = track(curves, kept, _tokens(info.id, ask.align))
            moved = aligned(clocks, mine, ask.align)
            if moved is None or not len(mine.step):
                return None
            step, reached = moved
            return _Other(info, keys, kept, clocks.step[reached], step[reached])
    return None


def _rows(
    other: _Other, ask: DeckAsk, steps: tuple[int | None, int | None]
) -> dict[str, list[Curve]]:
    """row -> its curves where it was as far as the steps of this run."""
    window = steps if ask.align == "step" else _there(other, steps)
    read = _read(other.run.id, list(other.keys.values()), window, ask.points)
    return {row: read[key] for row, key in other.keys.items() if read[key]}


def _there(other: _Other, steps: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    """The steps of the other run, one more at each end, at which it was as far as this one."""
    low, high = steps
    if low is None or high is None or not len(other.own):
        return None, None
    first, last = np.interp([low, high], other.mine, other.own).tolist()
    return int(first) - 1, int(last) + 2


def _read(
    run_id: int, keys: Sequence[str], steps: tuple[int | None, int | None], points: int
) -> dict[str, list[Curve]]:
    """key -> curves of the whole job that have points."""
    found = series.curves(run_id, keys, steps=steps, points=points)
    return {
        key: [c for c in curves if c.rank is None and len(c.step)] for key, curves in found.items()
    }


def clock(spine: Sequence[Curve], kept: dict[int, int | None]) -> Floats:
    """Two rows: the steps that a run kept, ascending, and the Unix ms at which it made them."""
    found = [
        (own.x, times.x)
        for curve in spine
        for own, times in zip(
            pieces(curve, kept.get(curve.attempt), "step"),
            pieces(curve, kept.get(curve.attempt), "time"),
            strict=True,
        )
        if own.kept
    ]
    return np.asarray([[at for one in row for at in one] for row in zip(*found, strict=True)])


def _placed(other: _Other, curves: Sequence[Curve], ask: DeckAsk, times: Floats) -> Beside:
    """The kept pieces on this run's axis. times: see `clock`."""
    kept = [
        piece
        for curve in curves
        for piece in pieces(curve, other.kept.get(curve.attempt), "step")
        if piece.kept
    ]
    own = np.asarray([at for piece in kept for at in piece.x], dtype=np.float64)
    y = np.asarray([value for piece in kept for value in piece.last], dtype=np.float64)
    step, inside = own, np.ones(len(own), np.bool_)
    if ask.align != "step":
        step, inside = _moved(other, own)
    x = step
    if ask.kind == "time":
        inside &= (step >= times[0][0]) & (step <= times[0][-1])
        x = np.interp(step, times[0], times[1])
    return Beside(other.run.key, x[inside].tolist(), y[inside].tolist())


def _moved(other: _Other, own: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Its steps as steps of this run, and which of them this run has reached."""
    if not len(other.own):
        return own, np.zeros(len(own), np.bool_)
    inside = (own >= other.own[0]) & (own <= other.own[-1])
    return np.interp(own, other.own, other.mine), inside


def _tokens(run_id: int, align: str) -> Floats:
    """Two rows: steps and tokens seen, of all attempts; empty unless asked for."""
    if align != "tokens":
        return np.zeros((2, 0))
    key = naming.roles_of(run_id).by_role().get("tokens_seen")
    if key is None:
        return np.zeros((2, 0))
    query = metrics.SeriesQuery(run_id=run_id, keys=(key,), points=TOKEN_POINTS)
    windows = [w for w in metrics.read_series(query) if w.rank is None and len(w.step)]
    pairs = sorted(p for w in windows for p in zip(w.step, w.last, strict=True))
    return np.asarray(pairs, dtype=np.float64).T if pairs else np.zeros((2, 0))
