"""The page of siblings of a run."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from apps.core.clock import now_ns
from apps.core.errors import AppError, status_of
from apps.dashboard import siblings as page
from apps.dashboard.access import actor, may_operate, operating, run_of
from apps.ingest.comparing import compare_with
from apps.metrics.siblings import MAX_REFERENCES
from apps.runs.records import RunInfo


@require_http_methods(["GET", "HEAD", "POST"])
def siblings(request: HttpRequest, key: str) -> HttpResponse:
    """Choose runs to compare with, and see where this one stands among them."""
    run = run_of(key)
    return _chosen(request, run) if request.method == "POST" else _page(request, run)


@operating
def _chosen(request: HttpRequest, run: RunInfo) -> HttpResponse:
    try:
        asked = page.read_form(request.POST)
        reason = request.POST.get("reason", "")[:2_000]
        compare_with(run.id, asked, actor(request), reason=reason, now_ns=now_ns())
    except AppError as error:
        return _page(request, run, error)
    count = len(asked.references)
    told = f"Compared with {count} from now on." if count else "Compared with none."
    messages.success(request, told, extra_tags="ok")
    return redirect("siblings", run.key)


def _page(request: HttpRequest, run: RunInfo, error: AppError | None = None) -> HttpResponse:
    context: dict[str, Any] = {
        "run": run,
        "scene": page.scene(run),
        "error": error,
        "most": MAX_REFERENCES,
        "may_operate": may_operate(request),
    }
    status = status_of(error)
    return render(request, "runs/siblings.html", context, status=status)
