"""Where the time of a run went, and how often it should save."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from apps.api.auth import needs
from apps.api.lookup import run_of
from apps.core.clock import now_ns
from apps.rollbacks import planning
from apps.rollbacks.advising import UNITS, adviser
from apps.rollbacks.domain.goodput import Part, account

router = Router(auth=needs("read"))
MAX_DAYS = 365
_DAY_NS = 86_400 * 10**9
_Seconds = Annotated[float, Field(ge=0, le=1e12)]


class PartsOut(Schema):
    """Seconds of the wall clock by what they were; each second once. training: steps that still
    count. redone: steps that were given up. waiting: no attempt ran."""

    training: float
    saving: float
    starting: float
    redone: float
    stalled: float
    waiting: float


class GoodputOut(Schema):
    """ratio: training / wall_s, 0 to 1; null before anything was seen. blind: the run logs no loss,
    so no step is known. gpu_hours, lost_gpu_hours: null while its GPUs are not known."""

    run: str
    since_ns: int | None
    until_ns: int
    blind: bool
    ratio: float | None
    wall_s: float
    parts: PartsOut
    gpus: int | None
    gpu_hours: float | None
    lost_gpu_hours: float | None


class CostOut(Schema):
    """One value that the advice is made of. source: how it was measured; "typed" for one of the
    address, "assumed: ..." where nobody knows."""

    name: str
    seconds: float
    source: str


class PlanOut(Schema):
    """best_s: training between two saves, without the pause of a save; goodput: what it brings, 0
    to 1. young_s, daly_s: the published estimates. best_steps: the same in steps. low_s, high_s:
    the best interval for the shortest and longest time between failures that so few failures allow
    with 90 %. now_s, now_goodput: as the run saves now. gpu_hours_a_week: what the best would win.
    """

    run: str
    costs: list[CostOut]
    best_s: float
    best_steps: int | None
    goodput: float
    young_s: float
    daly_s: float
    low_s: float | None
    high_s: float | None
    now_s: float | None
    now_goodput: float | None
    gpu_hours_a_week: float | None


class CostsIn(Schema):
    """Seconds, over what was measured. pause_s: training stands still at a save. persist_s: it is
    written in the background after that. mtbf_s: between two failures. restart_s: from a failure to
    the first new step. interval_s: training between two saves now."""

    pause_s: _Seconds | None = None
    persist_s: _Seconds | None = None
    mtbf_s: Annotated[float, Field(gt=0, le=1e12)] | None = None
    restart_s: _Seconds | None = None
    interval_s: _Seconds | None = None


@router.get(
    "/runs/{key}/goodput",
    response=GoodputOut,
    summary="Where the time of a run went",
    description="The wall clock from its first start, or of the last `days` days, to now or to the "
    "end of its last attempt.",
)
def get_goodput(
    request: HttpRequest, key: str, days: Annotated[int, Field(ge=1, le=MAX_DAYS)] | None = None
) -> dict[str, Any]:
    run, until_ns = run_of(key), now_ns()
    since_ns = None if days is None else until_ns - days * _DAY_NS
    found = planning.run_time(run, until_ns)
    gpus = found.measured.gpus
    goodput = found.goodput if since_ns is None else account(found.stretches, since_ns, until_ns)
    return {
        "run": run.key,
        "since_ns": since_ns,
        "until_ns": until_ns,
        "blind": found.blind,
        "ratio": goodput.ratio,
        "wall_s": goodput.wall_s,
        "parts": {part.value: goodput.of(part) for part in Part},
        "gpus": gpus,
        "gpu_hours": goodput.gpu_hours(gpus),
        "lost_gpu_hours": goodput.lost_gpu_hours(gpus),
    }


@router.get(
    "/runs/{key}/planning",
    response=PlanOut,
    summary="How often a run should save",
    description="From what the run measured and, over that, what the query says. Nothing is "
    "stored.",
)
def get_plan(request: HttpRequest, key: str, asked: Query[CostsIn]) -> dict[str, Any]:
    run = run_of(key)
    sent = {
        name: f"{seconds / UNITS[name]:.15g}"
        for name in UNITS
        if (seconds := getattr(asked, f"{name}_s")) is not None
    }
    found = adviser(planning.run_time(run, now_ns()), sent)
    low_s, high_s = found.range_s or (None, None)
    return {
        "run": run.key,
        "costs": [
            {"name": one.name, "seconds": one.seconds, "source": one.source}
            for one in found.fields
            if one.value
        ],
        "best_s": found.advice.best_s,
        "best_steps": found.best_steps,
        "goodput": found.advice.goodput,
        "young_s": found.advice.young_s,
        "daly_s": found.advice.daly_s,
        "low_s": low_s,
        "high_s": high_s,
        "now_s": found.now_s,
        "now_goodput": found.now,
        "gpu_hours_a_week": found.gpu_hours_a_week,
    }
