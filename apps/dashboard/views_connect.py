"""Connecting the first run, and the next: a token, a command, and the wait for the first row."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.services import make_token
from apps.dashboard.access import actor, administering, may_administer
from apps.dashboard.connecting import waiting_for
from apps.dashboard.views import number
from apps.runs import store as runs


def _newest() -> int:
    return next((run.id for run in runs.list_runs(1)), 0)


def _asked(request: HttpRequest) -> int:
    after = number(request, "after")
    return _newest() if after is None else after


@require_safe
def connect(request: HttpRequest) -> HttpResponse:
    """The three steps; once the run has come, its deck."""
    context = waiting_for(_asked(request))
    if context["arrived"]:
        return redirect("run", context["arrived"].key)
    return render(request, "runs/connect.html", {**context, "may_make": may_administer(request)})


@require_safe
def wait(request: HttpRequest) -> HttpResponse:
    """The line that says what has come; it leads the browser to the deck when a row has."""
    context = waiting_for(_asked(request))
    if not context["arrived"]:
        return render(request, "runs/_waiting.html", context)
    answer = HttpResponse()
    answer["HX-Redirect"] = reverse("run", args=[context["arrived"].key])
    return answer


@administering
@require_POST
def token(request: HttpRequest) -> HttpResponse:
    """Makes a token that may only send, and shows it this once inside the commands."""
    person = actor(request)
    secret = make_token(f"first run ({person.name})"[:200], ["ingest"], actor=person, wandb=True)
    context = waiting_for(_asked(request), secret)
    return render(request, "runs/connect.html", {**context, "may_make": True})
