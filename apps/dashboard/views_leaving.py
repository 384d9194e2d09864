"""Unsubscribing from alert mails, and how a person wants them."""

from __future__ import annotations

from zoneinfo import available_timezones

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from apps.alerts import leaving, mail_store
from apps.alerts.mail_store import Habits
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.core.http import client_address
from apps.core.words import whole
from apps.dashboard.access import actor


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def leave(request: HttpRequest, token: str) -> HttpResponse:
    """The page behind "Unsubscribe". GET asks and changes nothing: mail scanners open links.

    POST unsubscribes without a login, also when a mail program sends it (RFC 8058): the signed
    link proves that the sender has the mail, so it needs no CSRF token and no session. 409 when
    nobody else would hear of a page.
    """
    try:
        if request.method != "POST":
            found = leaving.membership(token)
        elif "back" in request.POST:
            found = leaving.come_back(token, address=client_address(request))
        else:
            found = leaving.leave(token, now_ns(), address=client_address(request))
    except AppError as error:
        return render(request, "alerts/leave_bad.html", {"error": error}, status=404)
    asked = request.method == "POST" and "back" not in request.POST
    kept = asked and not found.gone
    context = {"found": found, "asked": asked, "kept": kept}
    return render(request, "alerts/leave.html", context, status=409 if kept else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def mine(request: HttpRequest) -> HttpResponse:
    """How the person who is logged in wants alert mails: time zone, daily digest, rules left."""
    address = getattr(request.user, "email", "")
    if request.method == "POST" and address:
        return _save(request, address)
    context = {
        "address": address,
        "habits": mail_store.habits(address),
        "zones": sorted(available_timezones()),
        "left": leaving.left_rules(address),
    }
    return render(request, "alerts/mine.html", context)


def _save(request: HttpRequest, address: str) -> HttpResponse:
    person = actor(request)
    if rule := request.POST.get("back", ""):
        leaving.return_to(address, whole(rule) or 0, person)
        messages.success(request, "You get the mails of this rule again.")
        return redirect("alerts_mine")
    zone = request.POST.get("zone", "")
    if zone and zone not in available_timezones():
        messages.error(request, "There is no such time zone; choose one of the list.")
        return redirect("alerts_mine")
    leaving.set_habits(address, Habits(zone, "digest" in request.POST), person)
    messages.success(request, "Saved.")
    return redirect("alerts_mine")
