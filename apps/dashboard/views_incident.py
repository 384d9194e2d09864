"""Incidents: list, page, acknowledgement, end, export."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.records import Actor
from apps.alerts import services as alerts
from apps.core import live
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.core.http import json_response
from apps.dashboard import story as stories
from apps.dashboard.access import actor, incident_of, may_operate, operating
from apps.dashboard.patterns import news_of
from apps.dashboard.views import number, with_keys
from apps.incidents import services, store
from apps.incidents.domain.incident import IncidentChange, IncidentInfo, Resolution
from apps.runs import store as runs

PAGE = 50
STATES = ("open", "acknowledged", "mitigated", "resolved", "")


@require_safe
def incidents(request: HttpRequest) -> HttpResponse:
    """Incidents, newest first; all states unless one is asked for. ?part=count: the badge."""
    if request.GET.get("part") == "count":
        return render(request, "incidents/_count.html")
    state = request.GET.get("state", "")
    state = state if state in STATES else ""
    query = store.IncidentQuery(state=state or None, limit=PAGE, before=number(request, "before"))
    found = store.list_incidents(query)
    context = {
        "items": with_keys(found),
        "states": STATES,
        "state_filter": state,
        "next": found[-1].id if len(found) == PAGE else None,
    }
    return render(request, "incidents/list.html", context)


@require_safe
def incident(request: HttpRequest, number: int) -> HttpResponse:
    """One incident: what, since when, why, what to do."""
    told = stories.story(incident_of(number), now_ns())
    deck = f"{reverse('deck_data', args=[told.run.key])}?{urlencode({'incident': number})}"
    context = {
        "incident": told.incident,
        "run": told.run,
        "story": told,
        "may_operate": may_operate(request),
        "kind": "step",
        "span": told.window,
        "news": news_of(told.run.id, told.incident.attempt, told.incident.onset_time_ns),
        "fixed": True,
        "deck_url": deck,
        "series_url": reverse("series", args=[told.run.key]),
    }
    return render(request, "incidents/detail.html", context)


Act = Callable[[IncidentInfo, Actor, int], list[IncidentChange]]


@require_POST
@operating
def acknowledge(request: HttpRequest, number: int) -> HttpResponse:
    """Somebody takes care; reminders stop."""
    return _change(request, number, "acknowledged", lambda found, who, moment: services.acknowledge(
        found.run_id, found.id, actor=who, now_ns=moment
    ))  # fmt: skip


@require_POST
@operating
def resolve(request: HttpRequest, number: int) -> HttpResponse:
    """A person says that it is over."""
    reason = request.POST.get("reason", "")[:500]
    return _change(request, number, "resolved", lambda found, who, moment: services.resolve(
        found.run_id, found.id, Resolution.MANUAL, moment, actor=who, reason=reason
    ))  # fmt: skip


def _change(request: HttpRequest, number: int, verb: str, act: Act) -> HttpResponse:
    found = incident_of(number)
    try:
        with transaction.atomic():
            moment = now_ns()
            alerts.plan(act(found, actor(request), moment), moment)
        messages.success(request, f"You have {verb} {found.label}.", extra_tags="ok")
    except AppError as error:
        messages.error(request, str(error), extra_tags="warn")
    live.publish(runs.run_by_id(found.run_id).key, step=None, what=["incidents"])
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, allowed_hosts=None):
        target = reverse("incident", args=[number])
    return HttpResponseRedirect(target)


@require_safe
def export(request: HttpRequest, number: int, form: str) -> HttpResponse:
    """The incident as Markdown or JSON."""
    if form not in ("md", "json"):
        raise Http404("no such format")
    told = stories.story(incident_of(number), now_ns())
    name = f"{told.incident.label}.{form}"
    if form == "json":
        answer = json_response(stories.as_json(told))
    else:
        answer = HttpResponse(stories.markdown(told), content_type="text/markdown; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
