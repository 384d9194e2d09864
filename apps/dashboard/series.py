"""Series of a run as curves: which keys the deck shows, and reading them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.dashboard.curves import Curve
from apps.metrics import naming
from apps.metrics import store as metrics

ROWS = ("loss", "eval_loss", "grad", "step_time")
"""Rows of the deck that are also tables; names of fields of Shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The keys of the deck's rows; None where the run logs nothing of the kind."""

    loss: str | None
    grad: str | None
    step_time: str | None
    rank_loss: str | None
    eval_loss: str | None
    tokens_per_s: str | None


def shown(run_id: int) -> Shown:
    """What of this run the deck can show, by guess or as people of its project said."""
    roles = naming.roles_of(run_id)
    return Shown(
        loss=roles.loss,
        grad=roles.grad_norm,
        step_time=roles.step_time,
        rank_loss=roles.rank_loss,
        eval_loss=roles.eval_loss,
        tokens_per_s=roles.tokens_per_s,
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
