"""The search of the whole site: the palette's endpoint and the page without JavaScript."""

from __future__ import annotations

from dataclasses import asdict

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.dashboard.context import address
from apps.dashboard.search import MAX_TEXT, search
from apps.runs import store as runs


@require_safe
def data(request: HttpRequest) -> JsonResponse:
    """{"groups": [{"kind", "hits": [{"title", "note", "icon", "url", "act"}]}]}, all bounded."""
    found = search(request.GET.get("q", ""), address, request.GET.get("kind", ""))
    return JsonResponse({"groups": [asdict(kind) for kind in found]})


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The same as a page; what only a browser can do is left out."""
    text = request.GET.get("q", "")[:MAX_TEXT]
    found = [kind for kind in search(text, address) if kind.kind != "Actions"]
    return render(request, "dashboard/search.html", {"q": text, "found": found})


@require_safe
def projects(request: HttpRequest) -> HttpResponse:
    """All projects, each with its runs and its settings."""
    named = [name for name, _ in runs.projects()]
    return render(request, "dashboard/projects.html", {"projects": named})
