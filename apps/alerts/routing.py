"""Who is told of which incident, with the rules as they are now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.conf import settings

from apps.accounts import store as accounts
from apps.alerts import channels_store, rules_store
from apps.alerts.domain import routing
from apps.alerts.domain.routing import Book, Defaults, Facts, Routes
from apps.core.records import FindingSeverity
from apps.incidents.domain.incident import IncidentInfo
from apps.incidents.store import Headline
from apps.runs import store as runs

TAGS = "wandb/tags"
"""Where the configuration of a run holds the tags that its `wandb` client gave it."""


def recipients() -> list[str]:
    """The default recipients: ALERT_RECIPIENTS, else every user with an address, else the sender
    itself, so that no alert is without an addressee."""
    return (
        list(settings.ALERT_RECIPIENTS)
        or accounts.mail_addresses()
        or [settings.DEFAULT_FROM_EMAIL]
    )


def book() -> Book:
    """The rules, the channels and who left. Two statements while there are no rules, else four."""
    rules = rules_store.rules()
    return Book(
        defaults=Defaults(tuple(recipients())),
        rules=rules,
        channels=channels_store.channels() if rules else (),
        left=rules_store.left(),
    )


def heard(projects: Collection[str]) -> frozenset[str]:
    """Those of the projects whose pages reach somebody. The sender's own address, which is told
    when there is no other, is nobody. One statement, and three where no person has an address."""
    if settings.ALERT_RECIPIENTS or accounts.mail_addresses():
        return frozenset(projects)
    told = book()
    nobody = set(told.defaults.recipients)
    asked = {p: Facts("no_contact", FindingSeverity.PAGE, p) for p in projects}
    return frozenset(
        p for p, it in asked.items() if {*routing.routes(it, told).recipients} - nobody
    )


def routes(
    found: Sequence[IncidentInfo], broken: Mapping[int, Sequence[str]] | None = None
) -> dict[int, Routes]:
    """incident id -> who is told of it. broken: incident id -> recipients that cannot be told.

    The statements of `book`, and one where there are rules.
    """
    rules, failed = book(), broken or {}
    asked = facts(found) if rules.rules else {i.id: _facts(i, "", None) for i in found}
    return {i.id: routing.routes(asked[i.id], rules, failed.get(i.id, ())) for i in found}


def facts(found: Sequence[IncidentInfo | Headline]) -> dict[int, Facts]:
    """incident id -> what rules ask of it. One statement."""
    known = runs.labels({i.run_id for i in found}, TAGS)
    return {i.id: _facts(i, *known.get(i.run_id, ("", None))) for i in found}


def _facts(incident: IncidentInfo | Headline, project: str, tags: Any) -> Facts:
    """tags: whatever the client of the run wrote there."""
    return Facts(
        kind=incident.kind,
        severity=FindingSeverity.PAGE if incident.page else incident.severity,
        project=project,
        tags=frozenset(str(tag) for tag in tags) if isinstance(tags, list) else frozenset(),
        owner=incident.owner,
    )
