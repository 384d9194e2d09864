"""The page of what a project asks of a rollback."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.core.words import whole
from apps.dashboard.access import actor, changing, may_administer
from apps.dashboard.names import NO_PROJECT
from apps.rollbacks import policies
from apps.rollbacks.domain.margin import DEFAULT_MARGIN
from apps.runs import store as runs


@require_http_methods(["GET", "HEAD", "POST"])
@changing("admin")
def rules(request: HttpRequest, project: str) -> HttpResponse:
    """Look at the rules, change them."""
    name = "" if project == NO_PROJECT else project
    now = policies.of_project(name)
    if not runs.newest_runs(name, 1) and not now.version:
        raise Http404("no such project")
    if request.method == "POST":
        return _changed(request, project, name)
    own = now.margin_steps is not None
    typed = {"margin": str(now.margin_steps) if own else "", "second": now.second_approver}
    return _page(request, name, {"typed": typed, "own": own})


def _changed(request: HttpRequest, project: str, name: str) -> HttpResponse:
    sent = request.POST
    typed = {"margin": sent.get("margin", "").strip()[:20], "second": "second" in sent}
    own, reason = sent.get("how") == "own", sent.get("reason", "").strip()
    try:
        steps = _steps(str(typed["margin"])) if own else None
        version = whole(sent.get("version", ""), 10**9) or 0
        asked = policies.Asked(steps, bool(typed["second"]), version)
        policies.save(name, asked, actor=actor(request), reason=reason, now_ns=now_ns())
    except AppError as error:
        return _page(request, name, {"typed": typed, "own": own, "reason": reason, "error": error})
    messages.success(request, "The rules are saved.", extra_tags="ok")
    return redirect("rollback_rules", project)


def _steps(text: str) -> int:
    steps = whole(text.replace(",", ""))
    if steps is None:
        hint = "type a whole number"
        raise AppError(f'"{text}" is no number of steps', where="margin", hint=hint)
    return steps


def _page(request: HttpRequest, name: str, shown: dict[str, Any]) -> HttpResponse:
    error = shown.get("error")
    context = {
        **shown,
        "project": name or NO_PROJECT,
        "named": name or "runs without a project",
        "rules": policies.of_project(name),
        "default": DEFAULT_MARGIN,
        "may_admin": may_administer(request),
    }
    status = status_of(error)
    return render(request, "rollbacks/rules.html", context, status=status)
