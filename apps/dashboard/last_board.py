"""The last run list, shown while the database is slow or away.

Kept in Valkey: the table as everybody sees it (no form in it), and which sessions may read it. A
session counts for SESSION_S after it was last let in, since nobody can be asked meanwhile; not
where it ended since: signed out, its person shut out or with another password.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import redis
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from apps.accounts import ended
from apps.core import valkey
from apps.core.clock import now_ns
from apps.dashboard import board_asked, places
from apps.dashboard.board_asked import Filter
from apps.dashboard.context import address

KEEP_S, AGAIN_S, SESSION_S = 24 * 3600, 10, 900
_TABLE, _MADE, _SESSION = "board:table:", "board:made:", "board:session:"
log = logging.getLogger(__name__)


def keep(request: HttpRequest, asked: Filter, context: Mapping[str, Any]) -> None:
    """Keeps a list that the database has just given, at most every AGAIN_S seconds. Only whole
    lists: all projects and owners, their first page."""
    try:
        store = valkey.client()
        store.set(_SESSION + _session(request), f"{request.user.pk} {now_ns()}", ex=SESSION_S)
        no_run = not (context["board"].rows or asked.shown)
        if asked.project or asked.owner or asked.later or no_run:
            return
        if store.set(_MADE + asked.shown, b"1", ex=AGAIN_S, nx=True):
            moment = now_ns()
            shown = {**context, "may_operate": False, "waiting": [], "mine": None}
            shown["now_ns"] = moment
            table = zlib.compress(render_to_string("runs/_board.html", shown).encode(), 1)
            store.set(_TABLE + asked.shown, b"%d %b" % (moment, table), ex=KEEP_S)
    except redis.RedisError:
        log.warning("dashboard.board_not_kept")


def _is_let_in(request: HttpRequest) -> bool:
    """Whether the session was let in lately, and has not ended since."""
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return False
    name = _session(request)
    seen: Any = valkey.client().get(_SESSION + name)
    if not seen:
        return False
    person, _, at_ns = seen.decode().partition(" ")
    return not ended.has_ended(int(person), name, int(at_ns))


def _session(request: HttpRequest) -> str:
    """Names the session of a cookie, which itself is kept nowhere."""
    return ended.session_name(request.COOKIES.get(settings.SESSION_COOKIE_NAME, ""))


def _last(request: HttpRequest, asked: Filter) -> tuple[int, str] | None:
    """(when it was made, the table) for who may read it; of all runs where that list is not
    kept."""
    try:
        store = valkey.client()
        if not _is_let_in(request):
            return None
        kept: Any = store.get(_TABLE + asked.shown) or store.get(_TABLE)
    except redis.RedisError:
        return None
    if not kept:
        return None
    made, _, table = kept.partition(b" ")
    return int(made), zlib.decompress(table).decode()


class LastBoard:
    """Answers the run list from Valkey where the database gave none."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self.get_response(request)
        if answer.status_code != 503 or request.path != "/" or request.method != "GET":
            return answer
        asked = board_asked.read(request.GET)
        found = _last(request, asked)
        return _page(request, *found) if found else answer


def _page(request: HttpRequest, made_ns: int, table: str) -> HttpResponse:
    """Without the request: who asks would be looked up in the database."""
    part = request.GET.get("part") == "board"
    context = {
        "table": mark_safe(table),  # noqa: S308 our own template made it
        "made_ns": made_ns,
        "now_ns": now_ns(),
        "now_ms": now_ns() // 1_000_000,
        "rail": [] if part else places.rail("/", None, address),
    }
    return HttpResponse(render_to_string(f"runs/{'_last' if part else 'last'}.html", context))
