"""What a project has set, on one page; what the site keeps, and for how long."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.dashboard import project_settings
from apps.dashboard.access import actor, changing, may_administer
from apps.dashboard.names import NO_PROJECT
from apps.dashboard.project_settings import Entry
from apps.runs import project_store
from apps.runs import store as runs
from apps.runs.describing import describe


@require_safe
def projects(request: HttpRequest) -> HttpResponse:
    """All projects: how many runs, since when, what each is for."""
    return render(request, "settings/projects.html", {"rows": project_store.rows()})


@require_http_methods(["GET", "HEAD", "POST"])
@changing("admin")
def project(request: HttpRequest, project: str) -> HttpResponse:
    """Each setting of a project with its present value and where it is changed; what it is for."""
    named = "" if project == NO_PROJECT else project
    entries = project_settings.entries(named)
    if not runs.newest_runs(named, 1) and not any(one.changed_at_ns for one in entries):
        raise Http404("no such project")
    context: dict[str, Any] = {
        "project": project,
        "named": named,
        "entries": [(one, _address(one, named)) for one in entries],
        "about": project_store.about(named),
        "may_administer": may_administer(request),
    }
    return _described(request, context) if request.method == "POST" else _page(request, context)


def _described(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    text = request.POST.get("about", "").replace("\r\n", "\n").strip()
    try:
        describe(context["named"], text, actor=actor(request), now_ns=now_ns())
    except AppError as error:
        return _page(request, {**context, "typed": text, "error": error})
    messages.success(request, "What the project is for is saved.", extra_tags="ok")
    return redirect("settings_project", context["project"])


def _page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    error = context.get("error")
    status = status_of(error)
    return render(request, "settings/project.html", context, status=status)


def _address(entry: Entry, named: str) -> str:
    if entry.whole:
        return reverse(entry.page)
    if entry.page == "labels":
        return f"{reverse('labels')}?{urlencode({'project': named})}"
    return reverse(entry.page, args=[named or NO_PROJECT])


@require_safe
def retention(request: HttpRequest) -> HttpResponse:
    """How long the site keeps what, with the setting that says so, and projects with own rules."""
    context = {"kept": project_settings.kept(), "own": project_settings.log_rules()}
    return render(request, "settings/retention.html", context)
