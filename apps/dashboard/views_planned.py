"""The page of planned changes of a run."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.core.words import whole
from apps.dashboard.access import actor, may_operate, operating, run_of
from apps.ingest import planning
from apps.metrics import store as metrics
from apps.metrics.domain.announced import from_config
from apps.metrics.domain.planned import KINDS, MAX_TEXT_CHARS, SETTLE_STEPS, PlannedChange
from apps.runs.records import RunInfo


@require_http_methods(["GET", "HEAD", "POST"])
def planned(request: HttpRequest, key: str) -> HttpResponse:
    """What people said is planned, and a form to say more."""
    run = run_of(key)
    return _added(request, run) if request.method == "POST" else _page(request, run)


@operating
def _added(request: HttpRequest, run: RunInfo) -> HttpResponse:
    try:
        info = planning.plan_change(run.id, _read_form(request), actor(request), now_ns())
    except AppError as error:
        return _page(request, run, error)
    messages.success(request, f"Planned: {info.change.words}.", extra_tags="ok")
    return redirect("planned", run.key)


@require_POST
@operating
def remove(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """Take one back."""
    info = planning.take_back(run_of(key).id, number, actor(request), now_ns())
    messages.success(request, f"No longer planned: {info.change.words}.", extra_tags="ok")
    return redirect("planned", key)


def _read_form(request: HttpRequest) -> PlannedChange:
    sent = request.POST
    from_step = _step(sent.get("from_step", ""), "from_step")
    if from_step is None:
        raise AppError("say at which step it begins", where="from_step")
    to_step = _step(sent.get("to_step", ""), "to_step")
    return PlannedChange(sent.get("kind", ""), from_step, to_step, sent.get("text", ""), "person")


def _step(text: str, where: str) -> int | None:
    bare = text.strip().replace(",", "")
    if not bare:
        return None
    step = whole(bare)
    if step is None:
        raise AppError(f'"{text[:40]}" is no step', where=where, hint="digits only")
    return step


def _page(request: HttpRequest, run: RunInfo, error: AppError | None = None) -> HttpResponse:
    asked = request.POST if error else request.GET
    context: dict[str, Any] = {
        "run": run,
        "items": metrics.planned(run.id),
        "announced": from_config(run.config),
        "kinds": KINDS,
        "most_chars": MAX_TEXT_CHARS,
        "settle_steps": SETTLE_STEPS,
        "asked": {name: asked.get(name, "") for name in ("kind", "from_step", "to_step", "text")},
        "error": error,
        "may_operate": may_operate(request),
    }
    status = status_of(error)
    return render(request, "runs/planned.html", context, status=status)
