"""What people do to several incidents at once: the boxes of the list, POST only."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from apps.accounts.records import Actor
from apps.core import live
from apps.core.errors import AppError
from apps.core.words import wholes
from apps.dashboard.access import actor, operating
from apps.dashboard.incident_filter import filter_of, place_of
from apps.dashboard.views_incident_acts import done
from apps.incidents import store
from apps.incidents.domain.incident import IncidentInfo
from apps.runs import store as runs

MOST = 50
"""How many the list shows, and so how many may be chosen."""
ACTS = {"acknowledge": "acknowledged", "silence": "silenced", "unsilence": "heard again"}


@dataclass(slots=True)
class _Outcome:
    """changed: to which it was done. already: which were so. refused: why not -> which."""

    changed: list[IncidentInfo] = field(default_factory=list)
    already: list[IncidentInfo] = field(default_factory=list)
    refused: dict[str, list[IncidentInfo]] = field(default_factory=dict)


@require_POST
@operating
def act(request: HttpRequest, what: str) -> HttpResponse:
    """Does one of ACTS to every chosen incident, each for itself, and goes back to the list.

    They stay chosen, so that one click ends a silence again. What cannot be is told with its
    reason.
    """
    chosen = chosen_in(request.POST)
    outcome = _do(what, chosen, actor(request), request.POST)
    for run_id in {incident.run_id for incident in outcome.changed}:
        live.publish(runs.run_by_id(run_id).key, step=None, what=["incidents"])
    _tell(request, what, outcome)
    query = QueryDict(request.POST.get("query", ""))
    asked, place = filter_of(query), place_of(query)
    kept: list[tuple[str, str | int]] = [("chosen", number) for number in chosen]
    if place:
        kept.append(("after", f"{place[0]}-{place[1]}"))
    return redirect(f"{reverse('incidents')}?state={asked.state}{asked.rest}&{urlencode(kept)}")


def chosen_in(asked: QueryDict) -> list[int]:
    """The incidents whose boxes are ticked; what is no number is none."""
    return sorted(set(wholes(asked.getlist("chosen")[:MOST])))


def _do(what: str, chosen: list[int], who: Actor, form: QueryDict) -> _Outcome:
    outcome = _Outcome()
    for found in filter(None, map(store.get, chosen)):
        try:
            changed = done(what, found, who, form)
            (outcome.changed if changed else outcome.already).append(found)
        except AppError as error:
            outcome.refused.setdefault(str(error), []).append(found)
    return outcome


def _tell(request: HttpRequest, what: str, outcome: _Outcome) -> None:
    word = ACTS[what]
    if outcome.changed:
        messages.success(request, f"{_named(outcome.changed)}: {word}.", extra_tags="ok")
    if outcome.already:
        messages.info(request, f"{_named(outcome.already)}: {word} already.")
    for why, which in outcome.refused.items():
        messages.warning(request, f"{_named(which)}: not {word}, {why}.", extra_tags="warn")
    if not (outcome.changed or outcome.already or outcome.refused):
        messages.warning(request, "No incident is chosen: tick their boxes.", extra_tags="warn")


def _named(which: list[IncidentInfo]) -> str:
    return ", ".join(incident.label for incident in which)
