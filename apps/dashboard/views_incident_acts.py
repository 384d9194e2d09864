"""What people do to an incident on its page: one door for each act, POST only."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from apps.accounts.records import Actor
from apps.alerts import services as alerts
from apps.core import live
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.dashboard.access import actor, incident_of, operating
from apps.incidents import services
from apps.incidents.domain.incident import (
    UNTIL_RESOLVED,
    IncidentChange,
    IncidentInfo,
    Resolution,
)
from apps.runs import store as runs

HOUR_NS = 3_600_000_000_000
SILENCES_NS = {"1": HOUR_NS, "4": 4 * HOUR_NS}

Doing = Callable[[IncidentInfo, Actor, int, QueryDict], list[IncidentChange]]


@require_POST
@operating
def act(request: HttpRequest, number: int, what: str) -> HttpResponse:
    """Does one of ACTS and goes back to where the button was."""
    found = incident_of(number)
    try:
        done(what, found, actor(request), request.POST)
        messages.success(request, ACTS[what][1].format(found.label), extra_tags="ok")
    except AppError as error:
        messages.error(request, str(error), extra_tags="warn")
    live.publish(runs.run_by_id(found.run_id).key, step=None, what=["incidents"])
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, allowed_hosts=None):
        target = reverse("incident", args=[number])
    return HttpResponseRedirect(target)


def done(what: str, found: IncidentInfo, who: Actor, form: QueryDict) -> bool:
    """Does one of ACTS with the messages that follow, or nothing of it; False if it was so already.

    AppError says why it cannot be.
    """
    with transaction.atomic():
        moment = now_ns()
        changes = ACTS[what][0](found, who, moment, form)
        alerts.plan(changes, moment)
    return bool(changes)


def _acknowledge(
    found: IncidentInfo, who: Actor, moment: int, form: QueryDict
) -> list[IncidentChange]:
    return services.acknowledge(found.run_id, found.id, actor=who, now_ns=moment)


def _mitigate(
    found: IncidentInfo, who: Actor, moment: int, form: QueryDict
) -> list[IncidentChange]:
    return services.mitigate(
        found.run_id, found.id, now_ns=moment, actor=who, reason=form.get("reason", "")
    )


def _resolve(found: IncidentInfo, who: Actor, moment: int, form: QueryDict) -> list[IncidentChange]:
    return services.resolve(
        found.run_id,
        found.id,
        Resolution.MANUAL,
        moment,
        actor=who,
        reason=form.get("reason", ""),
    )


def _silence(found: IncidentInfo, who: Actor, moment: int, form: QueryDict) -> list[IncidentChange]:
    span = form.get("for", "")
    until_ns = UNTIL_RESOLVED if span == "resolved" else moment + SILENCES_NS.get(span, 0)
    return services.silence(
        found.run_id,
        found.id,
        until_ns,
        actor=who,
        now_ns=moment,
        reason=form.get("reason", ""),
    )


def _unsilence(
    found: IncidentInfo, who: Actor, moment: int, form: QueryDict
) -> list[IncidentChange]:
    return services.unsilence(found.run_id, found.id, actor=who, now_ns=moment)


def _assign(found: IncidentInfo, who: Actor, moment: int, form: QueryDict) -> list[IncidentChange]:
    owner = who.name if form.get("to_me") else form.get("owner", "")
    return services.assign(found.run_id, found.id, owner, actor=who, now_ns=moment)


def _note(found: IncidentInfo, who: Actor, moment: int, form: QueryDict) -> list[IncidentChange]:
    return services.remark(
        found.run_id,
        found.id,
        form.get("text", ""),
        key=form.get("key", ""),
        actor=who,
        now_ns=moment,
    )


ACTS: dict[str, tuple[Doing, str]] = {
    "acknowledge": (_acknowledge, "You have acknowledged {}."),
    "mitigate": (_mitigate, "{} is mitigated. It is over when the losses or a person say so."),
    "resolve": (_resolve, "You have resolved {}."),
    "silence": (_silence, "{} is silenced."),
    "unsilence": (_unsilence, "{} is heard again."),
    "assign": (_assign, "{} has changed hands."),
    "note": (_note, "Your note is kept with {}."),
}
