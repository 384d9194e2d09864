"""Other runs beside the curves of one: what each kept, moved onto the axis of this run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apps.dashboard import series
from apps.dashboard.curves import Curve, pieces, step_to_time_ms
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


def others(
    run: RunInfo, ask: DeckAsk, spine: Sequence[Curve]
) -> tuple[dict[str, list[Beside]], list[str]]:
    """row -> curves of the asked runs; and in words which of them are not shown, and why."""
    found: dict[str, list[Beside]] = {}
    missing: list[str] = []
    mine = track(spine, dict(kept_until(runs.attempts(run.id))), _tokens(run.id, ask.align))
    for key in ask.others:
        other = runs.get_run(key)
        if other is None or other.id == run.id:
            missing.append(f"{key}: no such run")
            continue
        rows = _rows(other, ask)
        drawn = False
        for row, (curves, kept) in rows.items():
            placed = _placed(other, (curves, kept), mine, ask, spine)
            if placed is not None:
                found.setdefault(row, []).append(placed)
                drawn = True
        if not drawn:
            reason = "logs no tokens" if ask.align == "tokens" else "logs nothing of the kind"
            missing.append(f"{key}: it or this run {reason}")
    return found, missing


def _rows(other: RunInfo, ask: DeckAsk) -> dict[str, tuple[list[Curve], dict[int, int | None]]]:
    shown = series.shown(other.id)
    keys = {row: key for row in series.ROWS if (key := getattr(shown, row))}
    read = series.curves(other.id, list(keys.values()), points=ask.points)
    kept = dict(kept_until(runs.attempts(other.id)))
    return {
        row: ([c for c in read[key] if c.rank is None and len(c.step)], kept)
        for row, key in keys.items()
        if any(c.rank is None and len(c.step) for c in read[key])
    }


def _placed(
    other: RunInfo,
    rows: tuple[list[Curve], dict[int, int | None]],
    mine: Track,
    ask: DeckAsk,
    spine: Sequence[Curve],
) -> Beside | None:
    curves, kept = rows
    values = [
        value
        for curve in curves
        for piece in pieces(curve, kept.get(curve.attempt), "step")
        if piece.kept
        for value in piece.last
    ]
    clocks = track(curves, kept, _tokens(other.id, ask.align))
    moved = aligned(clocks, mine, ask.align)
    if moved is None or not len(mine.step):
        return None
    step, inside = moved
    x = step
    if ask.kind == "time":
        inside &= (step >= mine.step[0]) & (step <= mine.step[-1])
        x = np.asarray(step_to_time_ms(spine, spine[-1].attempt, step.tolist()))
    y = np.asarray(values, dtype=np.float64)
    return Beside(other.key, x[inside].tolist(), y[inside].tolist())


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
