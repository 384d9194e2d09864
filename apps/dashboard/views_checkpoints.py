"""Pages of the checkpoints of a run: the list, one of them, and what keeps it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from apps.checkpoints import copies_store, evaluations_store, marks, store
from apps.checkpoints.records import CheckpointInfo
from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.dashboard.access import actor, may_operate, operating, run_of
from apps.dashboard.checkpoints import VIEWS, outlooks, shelf
from apps.dashboard.hashing import panel
from apps.dashboard.views import number
from apps.ingest.wandb import artifacts_store
from apps.runs.records import RunInfo

SHOWN_FILES = 500


@require_safe
def checkpoints(request: HttpRequest, key: str) -> HttpResponse:
    """Checkpoints by step, newest first: state, places, marks, evaluations, findings."""
    run, asked = run_of(key), request.GET.get("show", "there")
    view = asked if asked in VIEWS else "there"
    found = shelf(run, now_ns())
    rows, pages = found.page(view, number(request, "page") or 1)
    context = {
        "run": run,
        "shelf": found,
        "outlooks": outlooks(run, now_ns()),
        "rows": rows,
        "view": view,
        "views": [(name, words, found.counts[name]) for name, words in VIEWS.items()],
        "page": min(max(number(request, "page") or 1, 1), pages),
        "pages": pages,
    }
    part = request.GET.get("part") == "list"
    return render(request, f"runs/{'_' * part}checkpoints.html", context)


@require_safe
def checkpoint(request: HttpRequest, key: str, attempt: int, step: int) -> HttpResponse:
    """One checkpoint: where it lies, what is wrong, what was not checked, who keeps it."""
    run = run_of(key)
    return _page(request, run, known_checkpoint(run, attempt, step))


@require_POST
@operating
def mark(request: HttpRequest, key: str, attempt: int, step: int) -> HttpResponse:
    """Set or take off a pin or a tag."""
    run = run_of(key)
    known = known_checkpoint(run, attempt, step)
    try:
        said = _marked(request, run, known)
    except AppError as error:
        return _page(request, run, known, error)
    messages.success(request, said, extra_tags="ok")
    return redirect("checkpoint", run.key, attempt, step)


def _marked(request: HttpRequest, run: RunInfo, known: CheckpointInfo) -> str:
    """Does what the form asks for; what was done, in words."""
    what, name = request.POST.get("act", ""), request.POST.get("name", "")
    reason, who, step = request.POST.get("reason", ""), actor(request), f"Step {known.step:,}"
    if what == "pin":
        marks.pin(run.id, known.place, reason=reason, actor=who)
        return f"{step} is kept until the pin is taken off."
    if what == "unpin":
        marks.unpin(run.id, known.place, reason=reason, actor=who)
        return f"{step} is no longer pinned."
    if what == "tag":
        marks.tag(run.id, known.place, name, reason=reason, actor=who)
        return f"{step} is now called “{name.strip()}”, which keeps it."
    if what == "untag":
        marks.untag(run.id, known.place, name, actor=who)
        return f"{step} is no longer called “{name.strip()}”."
    raise AppError(f'"{what[:20]}" is nothing to do with a checkpoint', where="act")


def known_checkpoint(run: RunInfo, attempt: int, step: int) -> CheckpointInfo:
    """The checkpoint, or 404."""
    if attempt >= 2**31 or step >= 2**63:
        raise Http404("no such checkpoint")
    known = store.get(run.id, attempt, step)
    if known is None:
        raise Http404("no such checkpoint")
    return known


def _page(
    request: HttpRequest, run: RunInfo, info: CheckpointInfo, error: AppError | None = None
) -> HttpResponse:
    files = sorted(info.inventory.items())
    copies = copies_store.of_checkpoint(run.id, *info.place)
    kept = marks.protections(run.id, now_ns()).get(info.place, ())
    context: dict[str, Any] = {
        "run": run,
        "c": info,
        "files": files[:SHOWN_FILES],
        "more_files": max(0, len(files) - SHOWN_FILES),
        "stamped": any(not stamp.bare for _, stamp in files),
        "tagged": any(stamp.etag for _, stamp in files),
        "copies": copies_store.all_places(info, copies),
        "marks": kept,
        "pinned": any(one.kind == "pin" for one in kept),
        "logged": artifacts_store.by_checkpoint(run.id).get(info.place, []),
        "results": evaluations_store.whole(run.id, *info.place),
        "hash": panel(run.id, info),
        "error": error,
        "asked": request.POST,
        "may_operate": may_operate(request),
        "most_reason": marks.MAX_REASON,
        "most_name": marks.MAX_NAME,
    }
    status = status_of(error)
    return render(request, "runs/checkpoint.html", context, status=status)
