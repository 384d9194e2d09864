"""Pages of people: who may sign in and as what; one-time links for them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts import people, people_store
from apps.accounts.records import Person, Role
from apps.accounts.services import LINK_LIFE
from apps.accounts.store import tokens_made_by
from apps.core.errors import AppError, status_of
from apps.core.words import many, wholes
from apps.dashboard.access import actor, administering, may_administer
from apps.dashboard.roles import ROLE_WORDS

LINK_HOURS = int(LINK_LIFE.total_seconds() // 3_600)


@require_http_methods(["GET", "HEAD", "POST"])
def members(request: HttpRequest) -> HttpResponse:
    """Everybody with their role; administrators add people here."""
    return _add(request) if request.method == "POST" else _list(request)


@require_safe
@administering
def member(request: HttpRequest, number: int) -> HttpResponse:
    """One person: role, mail address, links, the way out."""
    return _page(request, _known(number))


@require_POST
@administering
def change(request: HttpRequest, number: int) -> HttpResponse:
    """Another role or mail address."""
    person, sent = _known(number), request.POST
    try:
        people.change(
            number,
            _role(sent.get("role", "")),
            sent.get("mail", "").strip(),
            actor=actor(request),
            reason=sent.get("reason", "")[:2_000],
        )
    except AppError as error:
        return _page(request, person, error)
    messages.success(request, f"{person.name} is saved.", extra_tags="ok")
    return redirect("member", number)


@require_POST
@administering
def link(request: HttpRequest, number: int) -> HttpResponse:
    """A fresh one-time link, shown this once."""
    person = _known(number)
    try:
        secret = people.new_link(number, actor=actor(request))
    except AppError as error:
        return _page(request, person, error)
    return _linked(request, number, secret)


@require_POST
@administering
def active(request: HttpRequest, number: int) -> HttpResponse:
    """Shuts a person out, or lets them in again."""
    person, into = _known(number), request.POST.get("active") == "yes"
    try:
        reason = request.POST.get("reason", "")[:2_000]
        ended = _chosen(request)
        people.set_active(number, into, actor=actor(request), reason=reason, revoked=ended)
    except AppError as error:
        return _page(request, person, error)
    told = "may sign in again" if into else "is shut out: open pages of theirs answer no more"
    messages.success(request, f"{person.name} {told}.", extra_tags="ok")
    return redirect("member", number)


@require_POST
@administering
def tokens(request: HttpRequest, number: int) -> HttpResponse:
    """Ends the chosen tokens that a person made."""
    person, reason = _known(number), request.POST.get("reason", "")[:2_000]
    ended = people.revoke_tokens(number, _chosen(request), actor=actor(request), reason=reason)
    told = f"{many(ended, 'token')} of {person.name} revoked." if ended else "No token was chosen."
    messages.success(request, told, extra_tags="ok" if ended else "warn")
    return redirect("member", number)


def _chosen(request: HttpRequest) -> set[int]:
    """The tokens ticked in a form; what is no number is none."""
    return set(wholes(request.POST.getlist("token")))


@require_POST
@administering
def unlink(request: HttpRequest, number: int) -> HttpResponse:
    """Whoever signs in as this person through the provider does not any more."""
    person, reason = _known(number), request.POST.get("reason", "")[:2_000]
    people.unlink(number, actor=actor(request), reason=reason)
    messages.success(request, f"{person.name} is unlinked.", extra_tags="ok")
    return redirect("member", number)


@administering
def _add(request: HttpRequest) -> HttpResponse:
    sent = request.POST
    typed = {name: sent.get(name, "").strip() for name in ("name", "mail", "role")}
    try:
        role = _role(typed["role"])
        number, secret = people.add(typed["name"], typed["mail"], role, actor=actor(request))
    except AppError as error:
        return _list(request, typed, error)
    return _linked(request, number, secret)


def _role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        hint = ", ".join(Role)
        raise AppError("this is no role", where="role", hint=hint) from None


def _known(number: int) -> Person:
    found = people_store.person(number)
    if found is None:
        raise Http404("no such person")
    return found


def _linked(request: HttpRequest, number: int, secret: str) -> HttpResponse:
    """Not by redirect: the link would lie in the session until it is shown."""
    address = settings.PUBLIC_URL + reverse("login_by_link", args=[secret])
    context = {"person": _known(number), "link": address, "hours": LINK_HOURS}
    return render(request, "settings/link.html", context)


def _list(
    request: HttpRequest, typed: dict[str, str] | None = None, error: AppError | None = None
) -> HttpResponse:
    context = {
        "people": people_store.people(),
        "provider": settings.OIDC,
        "roles": ROLE_WORDS,
        "typed": typed or {"role": Role.VIEWER.value},
        "hours": LINK_HOURS,
        "error": error,
        "may_administer": may_administer(request),
    }
    return render(request, "settings/members.html", context, status=status_of(error))


def _page(request: HttpRequest, person: Person, error: AppError | None = None) -> HttpResponse:
    context: dict[str, Any] = {
        "person": person,
        "provider": settings.OIDC,
        "roles": ROLE_WORDS,
        "hours": LINK_HOURS,
        "error": error,
        "self": person.id == request.user.pk,
        "tokens": tokens_made_by(person.name, timezone.now()),
    }
    return render(request, "settings/member.html", context, status=status_of(error))
