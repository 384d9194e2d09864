"""Deny by default: a page is for people who are logged in, unless it is listed here."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse

from apps.accounts import ended, sessions
from apps.accounts.domain.session import Life

OPEN = ("/health/", "/ready", "/login/", "/static/", "/sdk/otel/", "/alerts/leave/")
"""Paths anybody may open."""
CHECKED = ("/api/", "/graphql", "/files/", "/loki/", "/v1/", "/otlp/")
"""Below these each view checks its token, session or signed address itself."""


class SessionLife:
    """Signs people out whose session has lasted or rested for too long. An open page is no rest: it
    asks for news."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        asks = settings.SESSION_COOKIE_NAME in request.COOKIES
        if asks and not request.path.startswith(OPEN) and request.user.is_authenticated:
            self._judge(request, int(time.time()))
        return self.get_response(request)

    @staticmethod
    def _judge(request: HttpRequest, now_s: int) -> None:
        life = sessions.life(request.session, now_s)
        if life is Life.ENDED:
            ended.sign_out(request)
        elif life is Life.NOTE_USE:
            sessions.note_use(request.session, now_s)


class LoginRequired:
    """Sends strangers to the login page. A part of a page that htmx or a script asks for is refused
    instead: the login page would be put in its place, and a sign-in lead to that part."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith((*OPEN, *CHECKED)) or request.user.is_authenticated:
            return self.get_response(request)
        data = request.headers.get("Accept", "").startswith("application/")
        if data or "HX-Request" in request.headers:
            return HttpResponse("you are signed out", status=401)
        return redirect_to_login(request.get_full_path())
