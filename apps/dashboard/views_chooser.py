"""Pages of one run that are asked for without one: which run?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from apps.dashboard.views import number
from apps.runs import store as runs

PAGE = 50
_WORDS = {"logs": "Logs", "checkpoints": "Checkpoints"}


@require_safe
def chooser(request: HttpRequest, page: str) -> HttpResponse:
    """The newest runs, each with a link to its page of this name."""
    found = runs.list_runs(PAGE + 1, number(request, "before"))
    shown = found[:PAGE]
    context = {
        "word": _WORDS[page],
        "rows": [{"run": run, "url": reverse(page, args=[run.key])} for run in shown],
        "next": shown[-1].id if len(found) > PAGE else None,
    }
    return render(request, "runs/chooser.html", context)
