"""Incidents: list, page, export."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from apps.core.clock import now_ns
from apps.core.errors import NotFound
from apps.dashboard import story as stories
from apps.dashboard.access import incident_of, may_operate
from apps.dashboard.patterns import news_of
from apps.dashboard.views import number, with_keys
from apps.incidents import store
from apps.rollbacks import exporting

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
        "note_key": uuid.uuid4().hex,
        "may_operate": may_operate(request),
        "kind": "step",
        "span": told.window,
        "news": news_of(told.run.id, told.incident.attempt, told.incident.onset_time_ns),
        "fixed": True,
        "deck_url": deck,
        "series_url": reverse("series", args=[told.run.key]),
    }
    return render(request, "incidents/detail.html", context)


@require_safe
def export(request: HttpRequest, number: int, form: str) -> HttpResponse:
    """The post-mortem as a ZIP, Markdown or JSON."""
    found = incident_of(number)
    try:
        made = exporting.export(found, form, now_ns())
    except NotFound as error:
        raise Http404("no such format") from error
    answer = HttpResponse(made.body, content_type=made.content_type)
    answer["Content-Disposition"] = f'attachment; filename="{made.name}"'
    return answer
