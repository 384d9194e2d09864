"""The run list, whose the runs are, and the lists that people keep."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from apps.core.clock import now_ns
from apps.core.errors import AppError, Conflict
from apps.core.sql import patience
from apps.dashboard import board, board_asked, board_order, last_board
from apps.dashboard.access import actor, changing, may_administer, may_operate, operating, run_of
from apps.dashboard.board_asked import Filter
from apps.dashboard.connecting import waiting_for
from apps.dashboard.views import with_keys
from apps.incidents import store as incidents
from apps.runs import owning, saved_store

SHOWN_WAITING = 3
PATIENCE_S = 5.0
"""What the list may take; then the last one is shown."""


@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    """The run list, most urgent first. The last one is kept for when the database is away."""
    asked = board_asked.read(request.GET)
    part = request.GET.get("part") == "board"
    with patience(PATIENCE_S):
        context = _context(request, asked)
    answer = render(request, "runs/_board.html" if part else "runs/list.html", context)
    last_board.keep(request, asked, context)
    return answer


def _context(request: HttpRequest, asked: Filter) -> dict[str, Any]:
    found = board.board(asked.asked(), now_ns())
    waiting = [] if asked.later or asked.narrow else board.open_incidents()
    me = actor(request).name
    context = {
        "asked": asked,
        "board": found,
        "chips": _chips(asked, found),
        "mine": _mine(asked, me),
        "waiting": with_keys(waiting[:SHOWN_WAITING]),
        "more_waiting": max(0, incidents.open_count() - SHOWN_WAITING) if waiting else 0,
        "may_operate": may_operate(request),
        "views": saved_store.views(me),
        "here": "/",
    }
    if not found.rows and not asked.narrow and not asked.later:
        context |= {**waiting_for(0), "may_make": may_administer(request)}
    return context


def _chips(asked: Filter, found: board.Board) -> list[dict[str, Any]]:
    return [
        {
            "url": asked.to(name),
            "words": words,
            "count": found.counts.get(name),
            "current": name == asked.shown,
        }
        for name, words in board_order.SHOWN.items()
    ]


def _mine(asked: Filter, me: str) -> dict[str, Any]:
    """The chip of this person's runs; a second click takes it away."""
    mine = asked.owner == me
    return {"url": asked.anybodys if mine else asked.owned_by(me), "current": mine}


@require_POST
@operating
def own(request: HttpRequest, key: str) -> HttpResponse:
    """Takes a run, or gives it up."""
    change = owning.give_up if "off" in request.POST else owning.take
    try:
        change(run_of(key), actor=actor(request))
    except Conflict as error:
        messages.warning(request, f"Not taken: {error}.", extra_tags="warn")
    return redirect(_list(request))


@require_POST
@changing("read")
def save_view(request: HttpRequest) -> HttpResponse:
    """Keeps the list under a name, or forgets it."""
    who, name = actor(request), request.POST.get("name", "")[:200]
    if "off" in request.POST:
        owning.drop_view(name, actor=who)
        return redirect(_list(request))
    view = saved_store.View(name, board_asked.read(QueryDict(request.POST.get("query", ""))).query)
    try:
        owning.save_view(view, now_ns(), actor=who)
        messages.success(request, f"The view “{name.strip()}” is saved.", extra_tags="ok")
    except AppError as error:
        messages.warning(request, f"Not saved: {error}.", extra_tags="warn")
    return redirect(_list(request))


def _list(request: HttpRequest) -> str:
    """The list that a form was sent from."""
    asked = board_asked.read(QueryDict(request.POST.get("query", "")))
    return f"{reverse('runs')}?{asked.query}" if asked.query else reverse("runs")
