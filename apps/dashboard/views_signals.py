"""The page of a project's patterns for numbers that ranks log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.core.words import whole
from apps.dashboard.access import actor, changing, may_operate
from apps.dashboard.names import NO_PROJECT
from apps.ingest import signalling
from apps.metrics import store as metrics
from apps.metrics.domain.rank_signals import Meaning
from apps.metrics.domain.signal_patterns import HOLES, MAX_PATTERNS, SignalRules, rules_of
from apps.runs import store as runs

EMPTY_ROWS = 2


@require_http_methods(["GET", "HEAD", "POST"])
@changing("operate")
def signals(request: HttpRequest, project: str) -> HttpResponse:
    """Look at the patterns, try them on recent lines, save."""
    name = "" if project == NO_PROJECT else project
    said = metrics.signal_rules_of(name)
    if not said.version and not runs.newest_runs(name, 1):
        raise Http404("no such project")
    if request.method == "POST":
        return _changed(request, project, name)
    return _page(request, name, said.patterns)


def _changed(request: HttpRequest, project: str, name: str) -> HttpResponse:
    typed = [text for text in request.POST.getlist("pattern")[: 2 * MAX_PATTERNS] if text.strip()]
    if request.POST.get("act") != "save":
        return _page(request, name, typed)
    asked = SignalRules(tuple(typed), whole(request.POST.get("version", "")) or 0)
    try:
        signalling.save(name, asked, actor(request), now_ns())
    except AppError as error:
        return _page(request, name, typed, error)
    messages.success(request, "The patterns are saved: lines that come from now on.", "ok")
    return redirect("signals", project)


def _page(
    request: HttpRequest, name: str, typed: Sequence[str], error: AppError | None = None
) -> HttpResponse:
    tried: list[signalling.Tried] = []
    compared: dict[str, str] = {}
    try:
        compared = signalling.compared(rules_of(typed))
        tried = signalling.preview(name, typed)
    except AppError as wrong:
        error = error or wrong
    context: dict[str, Any] = {
        "project": name,
        "said": metrics.signal_rules_of(name),
        "patterns": [*typed, *[""] * EMPTY_ROWS][: MAX_PATTERNS + EMPTY_ROWS],
        "tried": tried,
        "compared": compared,
        "holes": HOLES,
        "meanings": [meaning.value for meaning in Meaning],
        "error": error,
        "may_operate": may_operate(request),
    }
    status = status_of(error)
    return render(request, "detectors/signals.html", context, status=status)
