"""The page of the detectors of a project: thresholds, what others would do, save."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from apps.accounts.services import Forbidden
from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.dashboard import detectors as page
from apps.dashboard.access import actor, changing, may, may_operate, run_beside
from apps.dashboard.names import NO_PROJECT
from apps.ingest import thresholds as ingest
from apps.metrics import store as metrics
from apps.metrics.replay import DAYS, replay
from apps.runs import store as runs


@require_http_methods(["GET", "HEAD", "POST"])
@changing("operate")
def detectors(request: HttpRequest, project: str) -> HttpResponse:
    """Look at the thresholds, try others on the last days, save them."""
    name = "" if project == NO_PROJECT else project
    if not runs.newest_runs(name, 1) and not metrics.thresholds_of(name).version:
        raise Http404("no such project")
    if request.method == "POST":
        return _changed(request, project, name)
    typed = page.typed_of(metrics.thresholds_of(name).values)
    return _page(request, name, {"typed": typed})


def _changed(request: HttpRequest, project: str, name: str) -> HttpResponse:
    typed = page.typed_in(request.POST)
    shown: dict[str, Any] = {"typed": typed, "reason": request.POST.get("reason", "")[:2_000]}
    try:
        asked = page.read_form(request.POST)
        if request.POST.get("act") != "save":
            found = replay(name, asked.values, now_ns())
            counts = {how: found.count(how) for how in ("lost", "gained", "same")}
            return _page(
                request,
                name,
                shown | {"replay": found, "counts": counts, "told": page.told(found)},
            )
        again = ingest.move(
            name, asked, actor=actor(request), reason=shown["reason"], now_ns=now_ns()
        )
    except AppError as error:
        return _page(request, name, shown | {"error": error})
    told = f" Attempts of the last hour are judged again: {len(again)}." if again else ""
    messages.success(request, f"The thresholds are saved.{told}", extra_tags="ok")
    return redirect("detectors", project)


def _page(request: HttpRequest, name: str, shown: dict[str, Any]) -> HttpResponse:
    moved, error = metrics.thresholds_of(name), shown.get("error")
    context = {
        **shown,
        "project": name or NO_PROJECT,
        "named": name or "runs without a project",
        "beside": run_beside(request, name),
        "moved": moved,
        "groups": page.groups(moved.values, shown["typed"]),
        "days": DAYS,
        "may_operate": may_operate(request),
        "may_admin": may(request, "admin"),
    }
    status = 403 if isinstance(error, Forbidden) else status_of(error)
    return render(request, "detectors/page.html", context, status=status if error else 200)
