"""Pages to plan with: how often to save, how long a restore takes, where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.dashboard import planning as page
from apps.dashboard.access import run_of
from apps.dashboard.views import number
from apps.rollbacks import planning
from apps.rollbacks.advising import adviser as adviser_of
from apps.rollbacks.domain.goodput import Goodput, weighted
from apps.runs import store as runs
from apps.runs.records import RunInfo

DAYS = (1, 7, 30)
MAX_RUNS = 30
"""Runs of the fleet page: about 10 statements each."""
_DAY_NS = 86_400 * 10**9


@require_safe
def plan(request: HttpRequest, key: str) -> HttpResponse:
    """Save interval, goodput and restore of one run."""
    run = run_of(key)
    found = planning.run_time(run, now_ns())
    error: AppError | None = None
    try:
        adviser, planner = adviser_of(found, request.GET), page.planner(found, request.GET)
    except AppError as trouble:
        error = trouble
        adviser, planner = adviser_of(found, QueryDict()), page.planner(found, QueryDict())
    context: dict[str, Any] = {
        "run": run,
        "found": found,
        "adviser": adviser,
        "curve": page.curve_figure(adviser),
        "choices": page.choices(adviser),
        "planner": planner,
        "parts": page.parts(found.goodput),
        "bars": page.bars([(run.key, found.goodput)]),
        "error": error,
    }
    return render(request, "planning/run.html", context, status=400 if error else 200)


@dataclass(frozen=True, slots=True)
class _Member:
    """A run of the fleet. lost_gpu_h: GPU-hours that were no progress, None without GPUs."""

    run: RunInfo
    gpus: int | None
    goodput: Goodput

    @property
    def gpu_h(self) -> float | None:
        return self.goodput.gpu_hours(self.gpus)

    @property
    def lost_gpu_h(self) -> float | None:
        return self.goodput.lost_gpu_hours(self.gpus)


@require_safe
def fleet(request: HttpRequest) -> HttpResponse:
    """Where the time of all runs went in the last days, most lost GPU-hours first."""
    asked = number(request, "days")
    days = asked if asked in DAYS else DAYS[1]
    heard = _heard(days)
    members = _members(heard[:MAX_RUNS], days)
    total = weighted((one.goodput, one.gpus) for one in members if one.gpus)
    rows = [("all runs", total)] if total.wall_s else []
    rows += [(one.run.key, one.goodput) for one in members]
    context = {
        "days": days,
        "choices": DAYS,
        "members": members,
        "total": total,
        "gpu_h": total.wall_s / 3_600,
        "parts": page.parts(total),
        "bars": page.bars(rows) if rows else "",
        "rows": len(rows),
        "most": MAX_RUNS,
        "more": max(0, len(heard) - MAX_RUNS),
        "blind": min(len(heard), MAX_RUNS) - len(members),
        "without": sum(not one.gpus for one in members),
    }
    return render(request, "planning/fleet.html", context)


def _heard(days: int) -> list[RunInfo]:
    """The runs that were heard of in the last days, those heard of last first."""
    since_ns = now_ns() - days * _DAY_NS
    heard = [run for run in runs.list_runs(limit=200) if (run.contact_ns or 0) > since_ns]
    return sorted(heard, key=lambda run: run.contact_ns or 0, reverse=True)


def _members(heard: Sequence[RunInfo], days: int) -> list[_Member]:
    now = now_ns()
    newest = runs.newest_attempts([run.id for run in heard])
    found = []
    for run in heard:
        goodput = planning.goodput_of(run, now, now - days * _DAY_NS)
        if goodput is not None and goodput.wall_s:
            attempt = newest[run.id].number if run.id in newest else None
            found.append(_Member(run, planning.gpus_of(run, attempt), goodput))
    return sorted(found, key=lambda one: one.lost_gpu_h or 0.0, reverse=True)
