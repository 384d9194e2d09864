"""The index of the settings."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.dashboard.context import address
from apps.dashboard.settings_figures import figures
from apps.dashboard.settings_places import sections


@require_safe
def settings(request: HttpRequest) -> HttpResponse:
    """Each section with what it is for and what it holds."""
    told = figures()
    listed = [(one, told.get(one.slug, "")) for one in sections(request.path, address)]
    return render(request, "settings/index.html", {"listed": listed})
