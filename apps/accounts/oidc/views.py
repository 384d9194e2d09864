"""To the provider and back. Both addresses are a 404 while none is set up."""

from __future__ import annotations

import logging
import time
from types import ModuleType

from django.conf import settings
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from apps.accounts import services, sessions, throttle
from apps.accounts.domain.arrival import Denied, Provider, claims_of
from apps.accounts.domain.loss import Cause, Lost
from apps.accounts.oidc import arriving, words
from apps.accounts.views import too_many
from apps.core.clock import now_ns
from apps.core.http import client_address

TRIP_S = 600
"""How long somebody may be away at the provider; allauth forgets the state then."""
log = logging.getLogger(__name__)


@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """A page that goes on to the provider by itself.

    Not a redirect: Chromium holds `form-action` against every redirect after a form, also those
    from the provider to where it signs people in. So the policy stays as strict as it is.
    """
    provider = _provider()
    tried = throttle.take_trip(client_address(request), now_ns())
    if tried.wait_s:
        if tried.first:
            _refused(request, provider, "too many tries")
        return too_many(request, tried.wait_s, trip=True)
    if not request.user.is_authenticated:
        request.session.set_expiry(TRIP_S)
    try:
        address = _trip().begin(request, provider, _own(request, request.POST.get("next", "")))
    except Lost as lost:
        return _lost(request, provider, lost)
    return render(request, "accounts/leaving.html", {"provider": provider, "address": address})


@require_GET
def finish(request: HttpRequest) -> HttpResponse:
    """Signs in whoever the provider lets through and Lastgood knows; else says why not."""
    provider = _provider()
    try:
        back = _trip().finish(request, provider)
    except Lost as lost:
        return _lost(request, provider, lost)
    claims, wanted = claims_of(back.claims, provider), _own(request, back.wanted)
    try:
        user = arriving.arrive(claims, provider, client_address(request))
    except Denied as denied:
        log.warning("oidc.denied", extra={"reason": denied.denial.value})
        said = words.of_denial(denied.denial, provider, claims)
        return _not_in(request, provider, said, wanted)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    sessions.begin(request.session, int(time.time()), by_link=False)
    return redirect(wanted)


def _provider() -> Provider:
    if settings.OIDC is None:
        raise Http404("no provider is set up")
    return settings.OIDC


def _trip() -> ModuleType:
    """Loaded when somebody goes on it: its models need apps that are installed with a provider."""
    from apps.accounts.oidc import trip

    return trip


def _own(request: HttpRequest, wanted: str) -> str:
    """The page that was asked for, if it is one of this site."""
    own = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure())
    return wanted if own else "/"


def _lost(request: HttpRequest, provider: Provider, lost: Lost) -> HttpResponse:
    """A round trip that came to nothing. One that was not begun here leaves no line: anybody could
    write as many as they like."""
    if lost.cause is not Cause.STALE:
        log.warning("oidc.lost", extra={"cause": lost.cause.name, "detail": lost.detail})
        _refused(request, provider, lost.cause.value)
    return _not_in(request, provider, words.of_loss(lost.cause, provider), lost.wanted)


def _refused(request: HttpRequest, provider: Provider, reason: str) -> None:
    services.note_refused_login(client_address(request), reason, provider.name)


def _not_in(
    request: HttpRequest, provider: Provider, said: words.Said, wanted: str
) -> HttpResponse:
    context = {"provider": provider, "said": said, "next": "" if wanted == "/" else wanted}
    return render(request, "accounts/not_in.html", context, status=said.status)
