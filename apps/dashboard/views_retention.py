"""The page of retention of a run: what is kept, why, and how much storage that takes."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.checkpoints import deleting, retention
from apps.checkpoints.domain.retention import Rules, in_words
from apps.checkpoints.domain.storage_forecast import full_on
from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.dashboard import retention as page
from apps.dashboard.access import (
    actor,
    administering,
    may_administer,
    may_operate,
    operating,
    run_of,
)
from apps.rollbacks import keeping
from apps.runs.records import RunInfo


@require_http_methods(["GET", "HEAD", "POST"])
def plan(request: HttpRequest, key: str) -> HttpResponse:
    """Look at the plan, try other rules on what is there, save them."""
    run = run_of(key)
    if request.method == "POST":
        return _changed(request, run)
    known = page.presets(retention.rhythm(run.id))
    return _page(request, run, tried=known.get(request.GET.get("preset", "")))


@operating
def _changed(request: HttpRequest, run: RunInfo) -> HttpResponse:
    try:
        asked = page.read_form(request.POST)
        if request.POST.get("act") != "save":
            retention.check(asked.rules)
            return _page(request, run, tried=asked.rules)
        retention.set_rules(
            run,
            asked.said(),
            actor=actor(request),
            seen_ns=asked.seen_ns,
            reason=asked.reason,
            now_ns=now_ns(),
        )
    except AppError as error:
        return _page(request, run, error=error)
    messages.success(
        request, "Saved. Nothing is deleted within the next 24 hours.", extra_tags="ok"
    )
    return redirect("retention", run.key)


@require_POST
@operating
def take_back(request: HttpRequest, key: str, attempt: int, step: int) -> HttpResponse:
    """Keeps a checkpoint that waits for its deletion."""
    run, place = run_of(key), (attempt, step)
    reason = request.POST.get("reason", "")[:500]
    try:
        deleting.take_back(run.id, place, actor=actor(request), reason=reason, now_ns=now_ns())
    except AppError as error:
        return _page(request, run, error=error)
    messages.success(request, f"Step {step:,} stays: it is pinned now.", extra_tags="ok")
    return redirect("retention", run.key)


@require_POST
@administering
def try_again(request: HttpRequest, key: str, attempt: int, step: int) -> HttpResponse:
    """Plans a deletion that was refused once more."""
    run = run_of(key)
    try:
        deleting.try_again(run.id, (attempt, step), actor=actor(request), now_ns=now_ns())
    except AppError as error:
        return _page(request, run, error=error)
    messages.success(request, f"Step {step:,} is deleted in a day.", extra_tags="ok")
    return redirect("retention", run.key)


def _page(
    request: HttpRequest,
    run: RunInfo,
    tried: Rules | None = None,
    error: AppError | None = None,
) -> HttpResponse:
    now = now_ns()
    found = retention.outlook(run, keeping.guards(run.id, now), now, tried)
    context: dict[str, Any] = {
        "run": run,
        "done": page.done(found),
        "nowhere": found.said.deletes and not settings.CHECKPOINT_DELETE_ROOTS,
        "found": found,
        "groups": page.groups(found),
        "picture": page.picture(found, now),
        "words": in_words(found.rules),
        "form": request.POST if error and "act" in request.POST else page.form(found.rules),
        "figure": page.forecast_figure(found.days, found.free_bytes),
        "full": None if found.free_bytes is None else full_on(found.days, found.free_bytes),
        "caption": page.caption(found),
        "weeks": found.days[::7],
        "presets": page.presets(found.rhythm),
        "error": error,
        "may_operate": may_operate(request),
        "may_administer": may_administer(request),
    }
    status = status_of(error)
    return render(request, "retention/page.html", context, status=status)
