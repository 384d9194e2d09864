"""The page of metric names of a project."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.dashboard import names as page
from apps.dashboard.access import actor, may_operate, operating
from apps.ingest.names import rename
from apps.metrics.domain.layer_rules import RULES
from apps.metrics.domain.layer_statistics import STATISTICS
from apps.metrics.domain.naming import Naming
from apps.metrics.domain.templates import HOLES


def _scene(request: HttpRequest, project: str) -> page.Scene:
    named = "" if project == page.NO_PROJECT else project
    found = page.scene(named, request.GET.get("run"))
    if found.run is None and not found.naming.version:
        raise Http404("no such project")
    return found


@require_http_methods(["GET", "HEAD", "POST"])
def names(request: HttpRequest, project: str) -> HttpResponse:
    """Look at the guesses, correct them, try rules on the names that are there, save."""
    if request.method == "POST":
        return _changed(request, project)
    scene = _scene(request, project)
    return _page(request, scene, scene.naming)


@operating
def _changed(request: HttpRequest, project: str) -> HttpResponse:
    scene = _scene(request, project)
    asked = page.read_form(request.POST)
    if request.GET.get("part") == "effect":
        return render(request, "names/_effect.html", _context(request, scene, asked))
    if request.POST.get("act") != "save":
        return _page(request, scene, asked)
    try:
        again = rename(scene.project, asked, actor(request), now_ns())
    except AppError as error:
        return _page(request, scene, asked, error)
    told = f" Attempts of the last hour are judged again: {len(again)}." if again else ""
    messages.success(request, f"The names are saved.{told}", extra_tags="ok")
    query = f"?{urlencode({'run': scene.run.key})}" if "run" in request.GET and scene.run else ""
    return redirect(reverse("names", args=[project]) + query)


def _page(
    request: HttpRequest, scene: page.Scene, asked: Naming, error: AppError | None = None
) -> HttpResponse:
    context = {**_context(request, scene, asked), "error": error}
    status = status_of(error)
    return render(request, "names/page.html", context, status=status)


def _context(request: HttpRequest, scene: page.Scene, asked: Naming) -> dict[str, Any]:
    return {
        "scene": scene,
        "run": scene.run,
        "asked": asked,
        "effect": page.effect(scene, asked),
        "rules": page.form_rules(asked),
        "suggest": page.suggestions(scene),
        "statistics": STATISTICS,
        "built_in": RULES,
        "holes": HOLES,
        "may_operate": may_operate(request),
    }
