"""Pages of storage roots: where checkpoints are looked for, and what was found there."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.checkpoints import hashing, roots, roots_store
from apps.checkpoints.root_records import RootInfo
from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.core.words import whole
from apps.dashboard import storage as page
from apps.dashboard.access import (
    actor,
    administering,
    changing,
    may_administer,
    may_operate,
    operating,
    run_of,
)
from apps.dashboard.hashing import panel
from apps.dashboard.views_checkpoints import known_checkpoint
from apps.runs import store as runs


@require_safe
def storage(request: HttpRequest) -> HttpResponse:
    """Every root and how the last look at it went."""
    found = page.rows(now_ns())
    context = {
        **_rights(request),
        "rows": found,
        "waiting": [row for row in found if row.waits],
        "allowed": page.allowed(),
    }
    return render(request, "storage/page.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@changing("admin")
def new_root(request: HttpRequest) -> HttpResponse:
    """A root before it is saved. ?run=KEY fills that in."""
    if request.method == "POST":
        return _save(request, None)
    form = QueryDict(mutable=True)
    form["run"], form["enabled"], form["uri"] = request.GET.get("run", "")[:200], "yes", ""
    return _page(request, None, form)


@require_http_methods(["GET", "HEAD", "POST"])
@changing("admin")
def root(request: HttpRequest, number: int) -> HttpResponse:
    """What lies below a root, and the form to change it."""
    info = _known(number)
    if request.method == "POST":
        return _save(request, info)
    return _page(request, info, _form_of(info))


@require_POST
@operating
def look(request: HttpRequest, number: int) -> HttpResponse:
    """Looks at a root as soon as a worker is free."""
    _known(number)
    try:
        roots.hurry(number, actor(request), now_ns())
    except AppError as error:
        messages.error(request, str(error), extra_tags="critical")
    else:
        messages.success(request, "It is looked at now; this takes a moment.", extra_tags="ok")
    return redirect("storage_root", number)


@require_POST
@administering
def remove(request: HttpRequest, number: int) -> HttpResponse:
    """Nothing looks there any more."""
    _known(number)
    roots.remove(number, actor(request))
    text = "The root is removed. Checkpoints that were found there stay registered."
    messages.success(request, text, extra_tags="ok")
    return redirect("storage")


def _save(request: HttpRequest, info: RootInfo | None) -> HttpResponse:
    try:
        asked = page.read_form(request.POST)
        if info is None:
            number = roots.add(asked, actor(request), now_ns())
        else:
            number = info.id
            version = whole(request.POST.get("version", "")) or 0
            roots.change(number, asked, version, actor(request), now_ns())
    except AppError as error:
        return _page(request, info, request.POST, error)
    messages.success(request, "Saved. It is looked at now; this takes a moment.", extra_tags="ok")
    return redirect("storage_root", number)


@require_safe
def of_run(request: HttpRequest, key: str) -> HttpResponse:
    """The roots where checkpoints of a run may lie."""
    run = run_of(key)
    infos = {info.id for info in roots_store.of_run(run.id, run.project)}
    context = {
        **_rights(request),
        "run": run,
        "rows": [row for row in page.rows(now_ns()) if row.info.id in infos],
        "allowed": page.allowed(),
    }
    return render(request, "storage/of_run.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def content(request: HttpRequest, key: str, attempt: int, step: int) -> HttpResponse:
    """How far the full hash of a checkpoint is; a POST asks for one or cancels it."""
    if request.method == "POST":
        return _read_content(request, key, attempt, step)
    run = run_of(key)
    info = known_checkpoint(run, attempt, step)
    context = {**_rights(request), "run": run, "c": info, "hash": panel(run.id, info)}
    return render(request, "storage/_hash.html", context)


@operating
def _read_content(request: HttpRequest, key: str, attempt: int, step: int) -> HttpResponse:
    run = run_of(key)
    known_checkpoint(run, attempt, step)
    try:
        if request.POST.get("act") == "cancel":
            hashing.cancel(run.id, attempt, step, actor(request), now_ns())
        else:
            hashing.ask(run.id, attempt, step, actor(request), now_ns())
    except AppError as error:
        messages.error(request, str(error), extra_tags="critical")
    return redirect("checkpoint", run.key, attempt, step)


def _form_of(info: RootInfo) -> QueryDict:
    """The root as its form sends it."""
    rule = info.rule
    form = QueryDict(mutable=True)
    shared = rule.run_id is None
    form.update(
        {
            "uri": rule.uri,
            "whose": "project" if shared else "run",
            "run": "" if rule.run_id is None else runs.keys([rule.run_id]).get(rule.run_id, ""),
            "project": rule.project,
            "pattern": rule.pattern,
            "every": str(rule.every_s),
            "version": str(info.version),
            "enabled": "yes" if rule.enabled else "",
        }
    )
    return form


def _page(
    request: HttpRequest, info: RootInfo | None, form: QueryDict, error: AppError | None = None
) -> HttpResponse:
    context: dict[str, Any] = {
        **_rights(request),
        "form": form,
        "error": error,
        "allowed": page.allowed(),
        "projects": [name for name, _ in runs.projects() if name],
        "every_s": roots.EVERY_S,
    }
    if info is not None:
        run = form.get("run", "") if error is None else _form_of(info).get("run", "")
        context |= {"row": page.row_of(info, run, now_ns()), **page.look_context(info)}
    status = status_of(error)
    return render(request, "storage/root.html", context, status=status)


def _known(number: int) -> RootInfo:
    found = roots_store.get(number)
    if found is None:
        raise Http404("no such storage root")
    return found


def _rights(request: HttpRequest) -> dict[str, bool]:
    return {"may_operate": may_operate(request), "may_administer": may_administer(request)}
