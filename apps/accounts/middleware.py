"""Deny by default: a page is for people who are logged in, unless it is listed here."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse

OPEN = ("/health/", "/ready", "/login/", "/static/", "/sdk/otel/", "/alerts/leave/")
"""Paths anybody may open."""
CHECKED = ("/api/", "/graphql", "/files/", "/loki/", "/v1/", "/otlp/")
"""Below these each view checks its token, session or signed address itself."""


class LoginRequired:
    """Sends strangers to the login page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith((*OPEN, *CHECKED)) or request.user.is_authenticated:
            return self.get_response(request)
        return redirect_to_login(request.get_full_path())
