"""The page of what a project keeps of its logs."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.dashboard import kept as page
from apps.dashboard.access import actor, may_operate, operating, run_of
from apps.incidents import store as incidents
from apps.logs import retention
from apps.logs.domain.chunk.retention import KeepRule, plan
from apps.runs import store as runs

NO_PROJECT = "-"
SHOWN = 200


@require_http_methods(["GET", "HEAD", "POST"])
def kept(request: HttpRequest, project: str) -> HttpResponse:
    """Look at the rule, try another one on what is there, save it."""
    if request.method == "POST":
        return _changed(request, project)
    return _page(request, project)


@operating
def _changed(request: HttpRequest, project: str) -> HttpResponse:
    try:
        asked = page.read_form(request.POST)
        if request.POST.get("act") != "save":
            rule = asked.rule or retention.default_rule()
            retention.check(rule)
            return _page(request, project, rule)
        retention.set_rule(
            _named(project),
            asked.rule,
            actor=actor(request),
            seen_ns=asked.seen_ns,
            reason=asked.reason,
            now_ns=now_ns(),
        )
    except AppError as error:
        return _page(request, project, error=error)
    messages.success(request, "Saved. The next round deletes within ten minutes.", extra_tags="ok")
    return redirect("kept", project)


@require_POST
@operating
def pin(request: HttpRequest, key: str, attempt: int) -> HttpResponse:
    """Keeps an attempt whatever the rule says, or no longer."""
    run = run_of(key)
    pinned = request.POST.get("pinned") == "yes"
    retention.pin(run, attempt, pinned=pinned, actor=actor(request), reason="", now_ns=now_ns())
    return redirect("kept", run.project or NO_PROJECT)


def _named(project: str) -> str:
    return "" if project == NO_PROJECT else project


def _page(
    request: HttpRequest,
    project: str,
    tried: KeepRule | None = None,
    error: AppError | None = None,
) -> HttpResponse:
    now, open_attempts = now_ns(), incidents.attempts_waiting()
    logs = retention.project_logs(_named(project), open_attempts, now, tried)
    found = plan(logs.held, logs.said.rule, now)
    keys = runs.keys(found.run_ids)
    rule = logs.said.rule
    context: dict[str, Any] = {
        "project": project,
        "logs": logs,
        "said": retention.rule_of(_named(project)),
        "tried": tried is not None,
        "gib": rule.most_bytes / page.GIB if rule.most_bytes else None,
        "plan": found,
        "cuts": [(keys[cut.run_id], cut) for cut in found.cuts[:SHOWN]],
        "spared": [(keys[one.run_id], one) for one in found.spared[:SHOWN]],
        "more": max(0, len(found.cuts) - SHOWN),
        "error": error,
        "may_operate": may_operate(request),
    }
    status = status_of(error)
    return render(request, "logs/kept.html", context, status=status)
