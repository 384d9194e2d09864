"""Keeping the glances of the list of runs up to date."""

from __future__ import annotations

import logging

from apps.core.database import SERVER_TROUBLE
from apps.metrics import naming, store
from apps.metrics.domain.glance import SPARK_POINTS, Glance, since_step, spark, usual
from apps.metrics.records import SeriesQuery, SeriesWindow

LOOK_POINTS = 1_000
"""Buckets that the begin of the span is sought in: it is right to a thousandth of the attempt."""

log = logging.getLogger(__name__)


def refresh(limit: int = 200) -> int:
    """Makes the glances of runs that were heard of since, at most `limit`; how many.

    One that cannot be made is logged and keeps no other from its own. About ten statements a run.
    """
    made = 0
    for run_id, attempt, heard_ns in store.stale_glances(limit):
        try:
            glance = glance_of(run_id, attempt)
        except SERVER_TROUBLE:
            raise
        except Exception as error:
            log.exception("metrics.glance_failed", extra={"run": run_id, "reason": str(error)})
            glance = Glance(attempt)
        store.save_glance(run_id, heard_ns, glance)
        made += 1
    return made


def glance_of(run_id: int, attempt: int) -> Glance:
    """What the list says of one attempt, from its stored points."""
    roles = naming.roles_of(run_id)
    keys = [key for key in (roles.loss, roles.tokens_per_s) if key]
    latest = store.latest(run_id, attempt, keys) if keys else {}
    loss, tokens = (latest.get(key) if key else None for key in (roles.loss, roles.tokens_per_s))
    curve = _of_span(run_id, attempt, roles.loss, SPARK_POINTS) if loss else None
    speed = _of_span(run_id, attempt, roles.tokens_per_s, LOOK_POINTS) if tokens else None
    return Glance(
        attempt=attempt,
        loss=loss[2] if loss else None,
        spark=spark(curve.min, curve.max, curve.last) if curve else (),
        nonfinite=len(curve.nonfinite) if curve else 0,
        tokens_s=tokens[2] if tokens else None,
        usual_tokens_s=usual(speed.last) if speed else None,
    )


def _of_span(run_id: int, attempt: int, key: str | None, points: int) -> SeriesWindow | None:
    """The job's series over the span of a glance."""
    if key is None:
        return None
    whole = _window(run_id, attempt, key, None, LOOK_POINTS)
    begin = since_step(whole.step, whole.time_ns) if whole else None
    return whole if begin is None else _window(run_id, attempt, key, begin, points)


def _window(
    run_id: int, attempt: int, key: str, from_step: int | None, points: int
) -> SeriesWindow | None:
    query = SeriesQuery(
        run_id=run_id,
        keys=(key,),
        attempt=attempt,
        rank=None,
        from_step=from_step,
        to_step=None,
        points=points,
    )
    return next((one for one in store.read_series(query) if one.rank is None), None)
