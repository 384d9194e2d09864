"""Who is told of which incident, with the rules as they are now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings

from apps.accounts import store as accounts
from apps.alerts import channels_store, rules_store
from apps.alerts.domain import routing
from apps.alerts.domain.routing import Book, Defaults, Facts, Routes
from apps.core.records import FindingSeverity
from apps.incidents.domain.incident import IncidentInfo
from apps.runs import store as runs
from apps.runs.records import RunInfo

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


def routes(
    found: Sequence[IncidentInfo], broken: Mapping[int, Sequence[str]] | None = None
) -> dict[int, Routes]:
    """incident id -> who is told of it. broken: incident id -> recipients that cannot be told.

    The statements of `book`, and two where there are rules.
    """
    rules = book()
    known = runs.by_id({i.run_id for i in found}) if rules.rules else {}
    failed = broken or {}
    return {
        i.id: routing.routes(facts(i, known.get(i.run_id)), rules, failed.get(i.id, ()))
        for i in found
    }


def facts(incident: IncidentInfo, run: RunInfo | None) -> Facts:
    """What rules ask of an incident."""
    return Facts(
        kind=incident.kind,
        severity=FindingSeverity.PAGE if incident.page else incident.severity,
        project=run.project if run else "",
        tags=_tags(run.config) if run else frozenset(),
        owner=incident.owner,
    )


def _tags(config: Mapping[str, Any]) -> frozenset[str]:
    """The tags of a run, whatever its client wrote there."""
    tags = config.get(TAGS)
    return frozenset(str(tag) for tag in tags) if isinstance(tags, list) else frozenset()
