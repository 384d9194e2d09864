"""The fault classes of a project: the list, and a form for one with a box to try it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from apps.accounts.services import Forbidden, require
from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.core.places import SEARCHES
from apps.dashboard import faultclasses as page
from apps.dashboard.access import actor, changing, may, may_operate, run_beside
from apps.dashboard.names import NO_PROJECT
from apps.ingest.faultclasses import change
from apps.logs import store as logs
from apps.logs.domain.triage.ownclasses import OwnClass, OwnClasses
from apps.runs import store as runs

SAVED = "They count for lines that come from now on."


def _named(project: str) -> str:
    name = "" if project == NO_PROJECT else project
    if not runs.newest_runs(name, 1) and not logs.own_classes(name).version:
        raise Http404("no such project")
    return name


@require_http_methods(["GET", "HEAD", "POST"])
@changing("admin")
def fault_classes(request: HttpRequest, project: str) -> HttpResponse:
    """All classes that count for a project; switch one on or off, move it up, remove it."""
    name = _named(project)
    if request.method == "POST":
        return _switched(request, project, name)
    return _list(request, name)


def _switched(request: HttpRequest, project: str, name: str) -> HttpResponse:
    try:
        asked = page.changed(logs.own_classes(name), request.POST)
        _save(request, name, asked, "")
    except AppError as error:
        return _list(request, name, error)
    return redirect("fault_classes", project)


def _save(request: HttpRequest, name: str, asked: OwnClasses, reason: str) -> None:
    again = change(name, asked, actor=actor(request), reason=reason, now_ns=now_ns())
    told = f" Attempts of the last hour are judged again: {len(again)}." if again else ""
    messages.success(request, f"The fault classes are saved. {SAVED}{told}", extra_tags="ok")


@require_http_methods(["GET", "HEAD", "POST"])
@changing("operate")
def fault_class(request: HttpRequest, project: str) -> HttpResponse:
    """One class, new or with ?key=: change it, and try it first."""
    name = _named(project)
    own, key = logs.own_classes(name), request.GET.get("key", "")
    known = page.find(own, key)
    if key and known is None:
        raise Http404("no such class")
    if request.method == "POST":
        return _sent(request, project, own)
    return _form(request, name, {"typed": known or page.NEW, "own": own})


def _sent(request: HttpRequest, project: str, own: OwnClasses) -> HttpResponse:
    name, key = _named(project), request.GET.get("key", "")
    asked = page.read_class(request.POST)
    shown: dict[str, Any] = {
        "typed": asked,
        "own": own,
        "version": request.POST.get("version", ""),
        **{field: request.POST.get(field, "") for field in ("text", "reason")},
        "chosen": request.POST.get("run", ""),
    }
    try:
        if request.POST.get("act") != "save":
            return _tried(request, name, asked, shown)
        require(actor(request), "admin")
        wanted = page.with_class(own, asked, key, shown["version"])
        _save(request, name, wanted, shown["reason"][:2_000])
    except AppError as error:
        return _form(request, name, shown | {"error": error})
    return redirect("fault_classes", project)


def _tried(request: HttpRequest, name: str, asked: OwnClass, shown: dict[str, Any]) -> HttpResponse:
    release = SEARCHES.take()
    if release is None:
        busy = AppError("too many people search right now", hint="try again in a few seconds")
        return _form(request, name, shown | {"error": busy, "status": 503})
    try:
        tried = page.tried(name, request.GET.get("key", ""), asked, request.POST)
    finally:
        release()
    return _form(request, name, shown | {"tried": tried})


def _list(request: HttpRequest, name: str, error: AppError | None = None) -> HttpResponse:
    own = logs.own_classes(name)
    shown = {"built_in": page.built_in(own), "revisions": page.revisions(name), "error": error}
    return _page(request, "faults/page.html", name, shown | {"own": own})


def _form(request: HttpRequest, name: str, shown: dict[str, Any]) -> HttpResponse:
    shown.setdefault("version", shown["own"].version)
    return _page(request, "faults/class.html", name, {"key": request.GET.get("key", ""), **shown})


def _page(request: HttpRequest, template: str, name: str, shown: dict[str, Any]) -> HttpResponse:
    error = shown.get("error")
    context = {
        **page.context(shown["own"], name),
        **shown,
        "project": name or NO_PROJECT,
        "named": name or "runs without a project",
        "beside": run_beside(request, name),
        "may_operate": may_operate(request),
        "may_admin": may(request, "admin"),
    }
    refused = 403 if isinstance(error, Forbidden) else status_of(error)
    status = shown.get("status", refused) if error else 200
    return render(request, template, context, status=status)
