"""The page that compares the ranks of a run."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.dashboard import ranks as page
from apps.dashboard.access import run_of
from apps.dashboard.views import number
from apps.runs import store as runs


@require_safe
def ranks(request: HttpRequest, key: str) -> HttpResponse:
    """Slow ranks, ranks apart and silent ones of an attempt, and how far each series spreads."""
    run = run_of(key)
    found = runs.attempt(run.id, number(request, "attempt"))
    series, told, excluded = page.shown(run, found.number) if found is not None else ([], [], "")
    context = {
        "run": run,
        "attempts": runs.attempts(run.id),
        "attempt": found,
        "series": series,
        "told": told,
        "excluded": excluded,
    }
    return render(request, "runs/ranks.html", context)
