"""Incidents: list, page, export."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from apps.accounts import store as accounts
from apps.core.clock import now_ns
from apps.core.errors import NotFound
from apps.dashboard import alerts
from apps.dashboard import story as stories
from apps.dashboard.access import actor, incident_of, may_operate
from apps.dashboard.crash import crash_of
from apps.dashboard.incident_filter import (
    ME,
    NOBODY,
    SEVERITIES,
    STATES,
    filter_of,
    place_of,
)
from apps.dashboard.patterns import news_of
from apps.dashboard.views import with_keys
from apps.dashboard.views_incident_bulk import chosen_in
from apps.incidents import store
from apps.incidents.domain.summary import TELLING
from apps.logs import flight
from apps.rollbacks import exporting

PAGE = 50


@require_safe
def incidents(request: HttpRequest) -> HttpResponse:
    """Incidents, most urgent first; all states unless one is asked for. ?part=count: the badge."""
    if request.GET.get("part") == "count":
        return render(request, "incidents/_count.html")
    asked, after = filter_of(request.GET), place_of(request.GET)
    query = asked.query(actor(request).name, PAGE)
    found = store.list_urgent(query, after) if query is not None else []
    last = found[-1] if len(found) == PAGE else None
    counted = store.counts()
    context = {
        "items": with_keys([incident for _, incident in found]),
        "asked": asked,
        "states": [(word, counted.get(word)) for word in STATES if word != "unresolved"],
        "waiting": sum(counted.values()),
        "severities": SEVERITIES,
        "kinds": sorted({*TELLING, *filter(None, [asked.kind])}),
        "people": accounts.usernames(),
        "me": ME,
        "nobody": NOBODY,
        "next": f"{last[0]}-{last[1].id}" if last else None,
        "later": after is not None,
        "after": "-".join(map(str, after or ())),
        "chosen": chosen_in(request.GET),
        "may_operate": may_operate(request),
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
        "told": alerts.told(told.incident),
        "news": news_of(told.run.id, told.incident.attempt, told.incident.onset_time_ns),
        "flight": flight.answer(
            told.run.id,
            told.incident.attempt,
            store.failed_rank(told.run.id, told.incident.attempt),
        ),
        "crash": crash_of(told.run.key, told.incident, told.findings),
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
