"""The data of the flight deck, and what people choose to keep on it."""

from __future__ import annotations

import hashlib

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.services import audit
from apps.core.clock import now_ns
from apps.core.http import json_response
from apps.dashboard.access import actor, incident_in, may_operate, run_of
from apps.dashboard.deck import deck
from apps.dashboard.deck_ask import ask_of
from apps.dashboard.log_ranks import squeezed
from apps.dashboard.views import number
from apps.metrics import store as metrics
from apps.metrics.store import pins
from apps.runs import store as runs
from apps.runs.records import RunInfo

MAX_NAMES = 50


@require_safe
def deck_data(request: HttpRequest, key: str) -> HttpResponse:
    """The rows of the deck as JSON, with an ETag."""
    info, asked = run_of(key), number(request, "incident")
    incident = incident_in(info, asked) if asked is not None else None
    person = request.user.get_username()
    kept = () if incident else tuple(name for name, _ in pins.pins(info.id, person))
    found = deck(info, ask_of(request.GET.dict(), incident, kept))
    response = json_response(found, Cache_Control="private, no-cache")
    tag = f'"{hashlib.blake2b(response.content, digest_size=12).hexdigest()}"'
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers={"ETag": tag})
    response["ETag"] = tag
    response["Vary"] = "Accept-Encoding"
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        response.content = squeezed(response.content)
        response["Content-Encoding"] = "gzip"
    return response


@require_safe
def names(request: HttpRequest, key: str) -> HttpResponse:
    """Names of series that hold `q`, those that begin with it first: {names, more}."""
    asked = request.GET.get("q", "").lower()
    found = [name for name in metrics.key_names(run_of(key).id, ranked=False)
             if asked in name.lower()]  # fmt: skip
    found.sort(key=lambda name: (not name.lower().startswith(asked), name))
    return json_response({"names": found[:MAX_NAMES], "more": len(found[MAX_NAMES:])})


@require_POST
def pin(request: HttpRequest, key: str) -> HttpResponse:
    """Keeps a series on the deck of this person, or of everybody; `off` takes it away.

    For everybody only by who may operate.
    """
    who, info, name = actor(request), run_of(key), request.POST.get("key", "").strip()
    shared = request.POST.get("for") == "all" and may_operate(request)
    person = pins.EVERYBODY if shared else request.user.get_username()
    if "off" in request.POST:
        _unpin(request, info, name)
    elif name not in metrics.key_names(info.id, ranked=False):
        messages.warning(request, f"{info.key} logs nothing called {name[:100]}.")
    else:
        with transaction.atomic():
            runs.lock_run(info.id)
            if pins.add_pin(info.id, person, name, now_ns()):
                after = {"series": name, "for": "everybody" if shared else "self"}
                audit(who, "deck.pinned", f"run {info.key}", run_id=info.id, after=after)
            else:
                messages.warning(request, f"{name} is there already, or {pins.MAX_PINS} are.")
    return redirect("run", info.key)


def _unpin(request: HttpRequest, info: RunInfo, name: str) -> None:
    """Away from the own deck; what everybody sees goes only by who may operate."""
    people = {"self": request.user.get_username()}
    if may_operate(request):
        people["everybody"] = pins.EVERYBODY
    with transaction.atomic():
        gone = [of for of, person in people.items() if pins.drop_pin(info.id, person, name)]
        if gone:
            before = {"series": name, "for": " and ".join(gone)}
            audit(actor(request), "deck.unpinned", f"run {info.key}", run_id=info.id, before=before)
    if not gone and "everybody" not in people:
        messages.warning(request, f"{name[:100]} stays: only an operator takes that off.")
