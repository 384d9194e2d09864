"""What a project has set, on one page; what the site keeps, and for how long."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from apps.dashboard import project_settings
from apps.dashboard.names import NO_PROJECT
from apps.dashboard.project_settings import Entry
from apps.runs import store as runs


@require_safe
def project(request: HttpRequest, project: str) -> HttpResponse:
    """Each setting of a project with its present value and where it is changed."""
    named = "" if project == NO_PROJECT else project
    entries = project_settings.entries(named)
    if not runs.newest_runs(named, 1) and not any(one.changed_at_ns for one in entries):
        raise Http404("no such project")
    context = {
        "project": project,
        "named": named,
        "entries": [(one, _address(one, named)) for one in entries],
    }
    return render(request, "settings/project.html", context)


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
