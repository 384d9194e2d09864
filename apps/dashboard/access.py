"""From an id in an address to the object; everything a visitor may not see is simply not there."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from apps.accounts.records import Actor
from apps.accounts.services import Forbidden, actor_of, require
from apps.core.errors import NotFound
from apps.core.http import client_address
from apps.dashboard.roles import needed, words_of
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.runs import store as runs
from apps.runs.records import RunInfo

View = Callable[..., HttpResponse]
_ASKER = "lastgood_asker"


def asker(request: HttpRequest) -> Actor | None:
    """The logged-in person, None for anybody else. Their role is looked up once a request: a page
    asks for it several times."""
    known = vars(request)
    if _ASKER not in known:
        person = actor_of(request.user)
        known[_ASKER] = person and person.at(client_address(request))
    found: Actor | None = known[_ASKER]
    return found


def actor(request: HttpRequest) -> Actor:
    """The logged-in person; Forbidden for anybody else."""
    return require(asker(request), "read")


def may(request: HttpRequest, scope: str) -> bool:
    """Whether the person has a scope."""
    found = asker(request)
    return bool(found and found.may(scope))


def may_operate(request: HttpRequest) -> bool:
    """Whether buttons that change something are offered."""
    return may(request, "operate")


def run_of(key: str) -> RunInfo:
    """The run called `key`, or 404."""
    found = runs.get_run(key)
    if found is None:
        raise Http404("no such run")
    return found


def run_beside(request: HttpRequest, project: str) -> str:
    """The run (?run=) from whose tabs a page of its project was opened; "" for none."""
    key = request.GET.get("run", "")
    found = runs.get_run(key) if key else None
    return found.key if found and found.project == project else ""


def incident_of(incident_id: int) -> IncidentInfo:
    """The incident, or 404."""
    found = incidents.get(incident_id)
    if found is None:
        raise Http404("no such incident")
    return found


def incident_in(run: RunInfo, incident_id: int) -> IncidentInfo:
    """The incident, or 404; also if it is another run's."""
    found = incident_of(incident_id)
    if found.run_id != run.id:
        raise Http404("no such incident")
    return found


def may_administer(request: HttpRequest) -> bool:
    """Whether forms that set what counts for others are offered."""
    return may(request, "admin")


def operating(view: View) -> View:
    """A view for people who may operate; others read which role is missing. NUL in a form: 400.

    Whoever may learns that an object is not there by a 404.
    """
    return _guarded(view, "operate")


def administering(view: View) -> View:
    """The same for people who may administer."""
    return _guarded(view, "admin")


def changing(scope: str) -> Callable[[View], View]:
    """A view that everybody may read, and only people with `scope` may change by POST: who may not
    is told so before anything is looked up."""

    def outer(view: View) -> View:
        guarded = _guarded(view, scope)

        @wraps(view)
        def by_method(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            chosen = guarded if request.method == "POST" else view
            return chosen(request, *args, **kwargs)

        return by_method

    return outer


def _guarded(view: View, scope: str) -> View:
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            require(asker(request), scope)
        except Forbidden as error:
            role = {
                "needed": needed(scope),
                "yours": words_of(asker(request)).title.lower(),
            }
            context = {"message": error.message, "hint": error.hint, **role}
            return render(request, "403.html", context, status=403)
        if any("\0" in text for _, texts in request.POST.lists() for text in texts):
            raise BadRequest("NUL in a form: Postgres holds no such text")
        try:
            return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404(error.message) from error

    return guarded
