"""The page of tokens: what programs may do, and until when. For administrators."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts import store
from apps.accounts.services import MOST_DAYS, make_token, revoke_token
from apps.core.errors import AppError
from apps.core.words import whole
from apps.dashboard.access import actor, administering

SCOPE_WORDS = {
    "read": "reads all data by the API",
    "ingest": "sends data: training jobs, agents, shippers",
    "operate": "acts on incidents, orders rollbacks",
    "admin": "sets alerts and thresholds",
}
LIFES_DAYS = (7, 30, 90, 365)
SHOWN_ENDED = 50


@require_http_methods(["GET", "HEAD", "POST"])
@administering
def tokens(request: HttpRequest) -> HttpResponse:
    """All tokens; a new one is shown this once."""
    return _made(request) if request.method == "POST" else _page(request)


@require_POST
@administering
def revoke(request: HttpRequest, number: int) -> HttpResponse:
    """Ends a token; every process notices within ten seconds."""
    if not revoke_token(number, actor=actor(request)):
        raise Http404("no such token that works")
    messages.success(request, "The token is revoked.", extra_tags="ok")
    return redirect("tokens")


def _made(request: HttpRequest) -> HttpResponse:
    """Not by redirect: the secret would lie in the session until it is shown."""
    sent = request.POST
    name, scopes = sent.get("name", "").strip(), sent.getlist("scope")
    try:
        secret = make_token(
            name,
            scopes,
            actor=actor(request),
            wandb="wandb" in sent,
            lasts=_lasts(sent.get("days", "")),
        )
    except AppError as error:
        return _page(request, {"name": name, "scopes": scopes}, error)
    context = {"name": name, "scopes": scopes, "secret": secret}
    return render(request, "settings/token.html", context)


def _lasts(text: str) -> timedelta | None:
    if not text:
        return None
    days = whole(text, MOST_DAYS)
    if not days:
        raise AppError(
            "this is no number of days", where="ends", hint=f"1 to {MOST_DAYS}, or never"
        )
    return timedelta(days=days)


def _page(
    request: HttpRequest, typed: dict[str, Any] | None = None, error: AppError | None = None
) -> HttpResponse:
    found = store.tokens(timezone.now())
    working = [one for one in found if one.works]
    context: dict[str, Any] = {
        "working": working,
        "left": sum(one.maker_out for one in working),
        "ended": [one for one in found if not one.works][:SHOWN_ENDED],
        "scopes": SCOPE_WORDS,
        "lifes": LIFES_DAYS,
        "typed": typed or {"scopes": ["ingest"]},
        "error": error,
    }
    return render(request, "settings/tokens.html", context, status=400 if error else 200)
