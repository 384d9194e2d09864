"""The one-time login link, like a notebook server's."""

from __future__ import annotations

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from apps.accounts import services


def login_by_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Logs in with an unused link and goes to the run list; else says what to do.

    A link is a GET by nature. HEAD and prefetch do not use it up.
    """
    if request.method != "GET" or "prefetch" in request.headers.get("Sec-Purpose", ""):
        return HttpResponse(status=204)
    user = services.use_login_link(secret)
    if user is None:
        return render(request, "accounts/link_used.html", status=410)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("/")
