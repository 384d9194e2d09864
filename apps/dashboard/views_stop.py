"""Stopping a run: a page with a typed confirmation, and taking the request back."""

from __future__ import annotations

import secrets

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.core.errors import AppError, status_of
from apps.dashboard.access import actor, operating, run_of
from apps.runs import stop_store, stops
from apps.runs import store as runs


@require_http_methods(["GET", "HEAD", "POST"])
@operating
def stop(request: HttpRequest, key: str) -> HttpResponse:
    """Say why, type the run key, ask."""
    if request.method != "POST":
        return _page(request, key, secrets.token_urlsafe(16))
    asked = stops.StopAsked(
        run_key=run_of(key).key,
        confirm=request.POST.get("confirm", ""),
        reason=request.POST.get("reason", ""),
        idempotency_key=request.POST.get("key", ""),
        actor=actor(request),
    )
    try:
        made = stops.request(asked)
    except AppError as error:
        return _page(request, key, asked.idempotency_key, error)
    messages.success(
        request,
        f"Attempt {made.attempt} is told to stop when it next posts, within 15 seconds or so.",
        extra_tags="ok",
    )
    return redirect("run", key=key)


def _page(
    request: HttpRequest, key: str, idempotency_key: str, error: AppError | None = None
) -> HttpResponse:
    run = run_of(key)
    context = {
        "run": run,
        "attempt": runs.attempt(run.id, None),
        "key": idempotency_key,
        "reason": request.POST.get("reason", ""),
        "requests": stop_store.stops(run.id)[::-1],
        "error": error,
    }
    status = status_of(error)
    return render(request, "runs/stop.html", context, status=status)


@require_POST
@operating
def cancel(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """Takes a request back that nobody was told of."""
    try:
        stops.cancel(run_of(key).id, number, actor(request), request.POST.get("reason", ""))
        messages.success(request, "The request was taken back.", extra_tags="ok")
    except AppError as error:
        messages.error(request, str(error), extra_tags="warn")
    return redirect("run", key=key)
