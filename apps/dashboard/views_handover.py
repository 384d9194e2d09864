"""Handing an order over to a launcher, and the page that sets the launcher up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.core.words import whole
from apps.dashboard import handover as page
from apps.dashboard.access import actor, administering, may_administer, operating, run_of
from apps.rollbacks.domain.handover import Kind
from apps.rollbacks.launchers import bindings, handing, kinds
from apps.rollbacks.launchers.bindings import BindingAsked
from apps.rollbacks.launchers.bindings_store import BindingInfo
from apps.rollbacks.launchers.http import Access
from apps.runs.records import RunInfo


@require_POST
@operating
def hand_over(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """Lets the launcher follow the order now."""
    run = run_of(key)
    return _done(request, run, number, lambda: handing.hand_over(run.id, number, actor(request)))


@require_POST
@operating
def again(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """Lets a hand-over go on that failed, or of which a person has looked what happened."""
    run, looked = run_of(key), request.POST.get("nothing_happened") == "yes"
    act = handing.again
    return _done(
        request, run, number,
        lambda: act(run.id, number, actor(request), nothing_happened=looked),
    )  # fmt: skip


def _done(request: HttpRequest, run: RunInfo, number: int, act: Callable[[], None]) -> HttpResponse:
    try:
        act()
    except AppError as error:
        messages.error(request, str(error), extra_tags="warn")
    else:
        messages.success(request, "The hand-over is on its way.", extra_tags="ok")
    return redirect("order", run.key, number)


@require_http_methods(["GET", "HEAD", "POST"])
def launcher(request: HttpRequest, key: str) -> HttpResponse:
    """Look at who starts a run, set it."""
    run = run_of(key)
    if request.method == "POST":
        return _save(request, run)
    project = request.GET.get("for") == "project"
    own, shared = page.bindings(run)
    found = shared if project else own
    kind = _kind(request.GET.get("kind")) or (found.kind if found else Kind.SLURM)
    values = found.config if found and found.kind is kind else {}
    return _page(request, run, kind, values, project=project)


@administering
def _save(request: HttpRequest, run: RunInfo) -> HttpResponse:
    form = request.POST
    kind, project = _kind(form.get("kind")), form.get("for") == "project"
    if kind is None:
        raise Http404("no such kind of launcher")
    config = page.config_of(form, kind)
    try:
        if form.get("act") == "remove":
            bindings.remove(run, actor(request), whole_project=project)
        else:
            asked = BindingAsked(
                kind=kind,
                config=config,
                access=Access(form.get("url", ""), form.get("token", ""), form.get("ca", "")),
                whole_project=project,
                automatic=form.get("automatic") == "yes",
                enabled=form.get("enabled") == "yes",
                version=whole(form.get("version", "")) or 0,
            )
            bindings.save(run, asked, actor(request), now_ns())
    except AppError as error:
        return _page(request, run, kind, config, project=project, error=error)
    messages.success(request, "Saved.", extra_tags="ok")
    return redirect("launcher", run.key)


def _kind(text: str | None) -> Kind | None:
    return next((kind for kind in kinds.WORDS if kind.value == text), None)


def _page(
    request: HttpRequest,
    run: RunInfo,
    kind: Kind,
    values: Mapping[str, Any],
    *,
    project: bool,
    error: AppError | None = None,
) -> HttpResponse:
    own, shared = page.bindings(run)
    found = shared if project else own
    context = {
        "run": run,
        "kind": kind.value,
        "kinds": [(one.value, words) for one, words in kinds.WORDS.items()],
        "by_address": kind in kinds.BY_ADDRESS,
        "rows": page.rows(kind, values),
        "found": found,
        "same_kind": bool(found and found.kind is kind),
        "own": own,
        "shared": shared,
        "own_words": kinds.WORDS[own.kind] if own else "",
        "shared_words": kinds.WORDS[shared.kind] if shared else "",
        "project": project,
        **(_ticks(request) if error else _said(found)),
        "error": error,
        "may_administer": may_administer(request),
    }
    status = status_of(error)
    return render(request, "rollbacks/launcher.html", context, status=status)


def _ticks(request: HttpRequest) -> dict[str, bool]:
    """As they were sent, beside a mistake."""
    return {name: request.POST.get(name) == "yes" for name in ("automatic", "enabled")}


def _said(found: BindingInfo | None) -> dict[str, bool]:
    if found is None:
        return {"automatic": False, "enabled": True}
    return {"automatic": found.automatic, "enabled": found.enabled}
