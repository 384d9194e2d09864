"""The rollback drawer as a page that needs no JavaScript, and the progress of an order."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.core.errors import AppError, status_of
from apps.dashboard import handover
from apps.dashboard import rollback as drawer
from apps.dashboard.access import (
    actor,
    incident_in,
    may_administer,
    may_operate,
    operating,
    run_of,
)
from apps.dashboard.views import number as number_of
from apps.incidents import store as incidents
from apps.rollbacks import resume, services, store
from apps.rollbacks.records import OrderInfo
from apps.rollbacks.trying import DryRun
from apps.runs.records import RunInfo

NOTHING = "Choose a checkpoint first."
CHANGED = "You chose another checkpoint. Look at its preview, then confirm again."


def _scene(request: HttpRequest, run: RunInfo) -> drawer.Scene:
    asked = number_of(request, "incident")
    if asked is None:
        return drawer.scene(run, drawer.waiting_incident(run))
    return drawer.scene(run, incident_in(run, asked))


@require_http_methods(["GET", "HEAD", "POST"])
@operating
def rollback(request: HttpRequest, key: str) -> HttpResponse:
    """Choose, look, type the step, order."""
    scene = _scene(request, run_of(key))
    if request.method != "POST":
        skip = (number_of(request, "skip_from"), number_of(request, "skip_to"))
        return _page(request, scene, drawer.first_form(scene, number_of(request, "step"), skip))
    form = drawer.read_form(request.POST, request.POST.getlist("exclude"))
    if request.POST.get("act") != "order":
        tried = drawer.tried(scene, form, actor(request), look=request.POST.get("act") == "try")
        return _page(request, scene, form, tried=tried)
    if form.chosen is None:
        return _page(request, scene, form, AppError(NOTHING, where="choice"))
    if form.choice != form.previewed:
        return _page(request, scene, form, AppError(CHANGED, where="choice"))
    try:
        order = services.request(drawer.asked(scene, form, actor(request)))
    except AppError as error:
        return _page(request, scene, form, error)
    told = f"{order.label} was given. A launcher has to follow it."
    if order.proposed:
        told = f"{order.label} is proposed. Another person has to agree before a launcher sees it."
    messages.success(request, told, extra_tags="ok")
    return redirect("order", key=key, number=order.id)


def _page(
    request: HttpRequest,
    scene: drawer.Scene,
    form: drawer.Form,
    error: AppError | None = None,
    tried: DryRun | None = None,
) -> HttpResponse:
    tried = tried or drawer.tried(scene, form, actor(request), look=False)
    context = {
        "run": scene.run,
        "scene": scene,
        "incident": scene.incident,
        "form": form,
        "candidate": drawer.candidate_of(scene, form),
        "parts": drawer.parts_of(scene, form),
        "tried": tried,
        "document": drawer.document_of(tried) if tried else "",
        "error": error,
    }
    status = status_of(error)
    return render(request, "rollbacks/drawer.html", context, status=status)


def _order(run: RunInfo, number: int) -> OrderInfo:
    found = store.get(run.id, number)
    if found is None:
        raise Http404("no such order")
    return found


@require_safe
def order(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """How far an order has come, with the evidence for the verdict."""
    run = run_of(key)
    found = _order(run, number)
    events = store.events(run.id, number)
    context: dict[str, Any] = {
        "run": run,
        "order": found,
        "stages": drawer.stages(found, events),
        "events": events,
        # What is signed is an order: before a second person agreed there is none to copy.
        "document": "" if found.proposed else drawer.as_text(resume.ordered(found).document),
        "incident": incidents.get(found.incident_id) if found.incident_id else None,
        "may_operate": may_operate(request),
        "may_administer": may_administer(request),
        "handing": handover.scene(run, found),
        "start": resume.start_of(found) if found.active and not found.proposed else None,
        "own": found.actor == actor(request).name,
    }
    part = request.GET.get("part") == "progress"
    return render(request, "rollbacks/_progress.html" if part else "rollbacks/order.html", context)


@require_POST
@operating
def approve(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """A second person agrees to a proposed order."""
    run = run_of(key)
    _order(run, number)
    try:
        services.approve(run.id, number, actor(request), request.POST.get("confirm", ""))
        messages.success(request, "You approved the order.", extra_tags="ok")
    except AppError as error:
        messages.error(request, str(error), extra_tags="warn")
    return redirect("order", key=key, number=number)


@require_POST
@operating
def cancel(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """Takes back an order that nobody has followed yet."""
    run = run_of(key)
    _order(run, number)
    try:
        services.cancel(run.id, number, actor(request), request.POST.get("reason", ""))
        messages.success(request, "The order was taken back.", extra_tags="ok")
    except AppError as error:
        messages.error(request, str(error), extra_tags="warn")
    return redirect("order", key=key, number=number)
