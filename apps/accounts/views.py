"""Signing in: with the one-time link, like a notebook server's, or with a password."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.encoding import iri_to_uri
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from apps.accounts import ended, services, sessions, throttle
from apps.core.clock import now_ns
from apps.core.http import client_address

_ASKED = "lastgood_asked"
"""Cookie of the sign-in page alone: the page a stranger asked for, for a link opened after it."""
_ASKED_KEPT_S = 3600


def login_by_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Logs in with an unused link and goes to the page that was asked for before, else to the run
    list; a link that does not work says what to do.

    A link is a GET by nature. HEAD and prefetch do not use it up.
    """
    if request.method != "GET" or "prefetch" in request.headers.get("Sec-Purpose", ""):
        return HttpResponse(status=204)
    user = services.use_login_link(secret, client_address(request))
    if user is None:
        return render(request, "accounts/link_used.html", status=410)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    sessions.begin(request.session, int(time.time()), by_link=True)
    asked = request.COOKIES.get(_ASKED, "")
    own = url_has_allowed_host_and_scheme(asked, {request.get_host()}, request.is_secure())
    answer = redirect(asked if own else "/")
    answer.delete_cookie(_ASKED, path=settings.LOGIN_URL)
    return answer


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Ends the session: open pages and the kept run list of this browser answer no more."""
    ended.sign_out(request)
    return redirect("login")


def too_many(request: HttpRequest, wait_s: int, *, trip: bool = False) -> HttpResponse:
    """429 with Retry-After, for a password too many, or a round trip to the provider."""
    context = {"wait_minutes": -(-wait_s // 60), "trip": trip}
    answer = render(request, "accounts/too_many.html", context, status=429)
    answer["Retry-After"] = str(wait_s)
    return answer


class SignIn(LoginView):
    """Name and password, a bounded number of times; each try leaves a line in the audit trail."""

    template_name = "accounts/login.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """provider: where else one may sign in, or None."""
        return super().get_context_data(provider=settings.OIDC, **kwargs)

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The form. The page that was asked for is kept for whoever signs in by a link instead."""
        answer = super().get(request, *args, **kwargs)
        if asked := self.get_redirect_url():
            answer.set_cookie(
                _ASKED,
                iri_to_uri(asked),
                max_age=_ASKED_KEPT_S,
                path=settings.LOGIN_URL,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return answer

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """429 with Retry-After for a try too many, whatever the password."""
        tried = throttle.take(self._name(), client_address(request), now_ns())
        if not tried.wait_s:
            return super().post(request, *args, **kwargs)
        if tried.first:
            services.note_refused_login(client_address(request), "too many tries")
        return too_many(request, tried.wait_s)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Signs in; the line in the audit trail is in the same transaction."""
        address = client_address(self.request)
        if not services.may_use_password(form.get_user()):
            services.note_refused_login(address, "a password of no administrator")
            context = self.get_context_data(form=form, only_admins=True)
            return self.render_to_response(context, status=403)
        with transaction.atomic():
            answer = super().form_valid(form)
            services.note_login(form.get_user(), address)
        sessions.begin(self.request.session, int(time.time()), by_link=False)
        throttle.forget(self._name(), address)
        return answer

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """The page again, in the same words for a wrong name and a wrong password."""
        services.note_refused_login(client_address(self.request), "wrong name or password")
        return super().form_invalid(form)

    def _name(self) -> str:
        return self.request.POST.get("username", "")
