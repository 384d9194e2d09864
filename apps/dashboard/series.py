"""Series of a run as curves: which keys the deck shows, and reading them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.dashboard.curves import Curve
from apps.metrics import store as metrics
from apps.metrics.domain import roles

STEP_TIME = ("perf/step_time", "step_time", "perf/iteration_time", "time/step", "perf/step_time_s")
ROWS = ("loss", "grad", "step_time")
"""Rows of the deck that are also tables; names of fields of Shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The keys of the deck's rows; None where the run logs nothing of the kind."""

    loss: str | None
    grad: str | None
    step_time: str | None
    rank_loss: str | None
    layers: bool


def _pick(keys: Iterable[str], wanted: Sequence[str]) -> str | None:
    """The first wanted key that is logged, or else one that ends in it."""
    there = sorted(keys)
    for name in wanted:
        if name in there:
            return name
    endings = tuple(f"/{name.rsplit('/', 1)[-1]}" for name in wanted)
    return next((key for key in there if key.endswith(endings)), None)


def shown(run_id: int) -> Shown:
    """What of this run the deck can show."""
    infos = metrics.keys(run_id)
    job = {info.key for info in infos if not info.ranks}
    every = {info.key for info in infos}
    known = roles.guess(job)
    return Shown(
        loss=known.loss,
        grad=known.grad_norm,
        step_time=_pick(job, STEP_TIME),
        rank_loss=next(iter(roles.local_losses(every - job)), None),
        layers=any(key.startswith("grad_norm/") for key in job),
    )


def curves(
    run_id: int,
    keys: Sequence[str],
    *,
    steps: tuple[int | None, int | None] = (None, None),
    points: int = 1000,
    attempt: int | None = None,
) -> dict[str, list[Curve]]:
    """key -> its curves, one an attempt (and rank), in order of attempts."""
    query = metrics.SeriesQuery(
        run_id=run_id,
        keys=tuple(keys),
        attempt=attempt,
        rank=None,
        from_step=steps[0],
        to_step=steps[1],
        points=points,
    )
    found: dict[str, list[Curve]] = {key: [] for key in keys}
    for window in sorted(metrics.read_series(query), key=lambda w: (w.attempt, w.rank or -1)):
        found.setdefault(window.key, []).append(_curve(window))
    return found


def _curve(window: metrics.SeriesWindow) -> Curve:
    return Curve(
        attempt=window.attempt,
        step=window.step,
        time_ns=window.time_ns,
        low=window.min,
        high=window.max,
        last=window.last,
        nonfinite=[(step, kind) for step, kind in window.nonfinite],
        stored=window.points_stored,
        drawn=window.points_drawn,
        bucket_steps=window.bucket_steps,
        rank=window.rank,
    )
