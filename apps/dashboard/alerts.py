"""What the pages of alerts show: rules with their history, channels, the delivery log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import QueryDict

from apps.accounts import store as accounts
from apps.alerts import channels, channels_store, log_store, routing, rules, rules_store
from apps.alerts.channels_store import ChannelInfo
from apps.alerts.domain.routing import ChannelKind, Rule, channel_id
from apps.alerts.domain.rulebook import KINDS, SEVERITIES
from apps.alerts.rules import History
from apps.alerts.rules_store import RuleInfo
from apps.alerts.store import Delivery
from apps.core.records import FindingSeverity
from apps.core.words import duration, wholes
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo

SHOWN_INCIDENTS = 5
_DAY_NS = 86_400_000_000_000
KIND_WORDS = {
    ChannelKind.EMAIL: "E-mail",
    ChannelKind.SLACK: "Chat (Slack, Mattermost)",
    ChannelKind.WEBHOOK: "Signed webhook",
    ChannelKind.NTFY: "ntfy",
    ChannelKind.PAGERDUTY: "PagerDuty",
}


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule as the list shows it. fits: incidents of the last days; alone: what it asks for."""

    info: RuleInfo
    conditions: list[str]
    channels: list[ChannelInfo]
    left: list[str]
    fits: int
    nowhere: bool


@dataclass(frozen=True, slots=True)
class LogRow:
    """A message as the log shows it. to: the name of its channel, else the recipient. after: how
    long it took from being planned."""

    delivery: Delivery
    to: str
    channel: int | None
    after: str
    retry: bool


def overview(now_ns: int) -> dict[str, Any]:
    """Everything on /alerts/."""
    past, known = rules.history(now_ns), channels_store.infos()
    infos, left = rules_store.infos(), rules_store.left()
    by_id = {one.id: one for one in known}
    failed, waiting = log_store.trouble(now_ns - _DAY_NS)
    nowhere = {rule.id for rule in rules.leading_nowhere([i.rule for i in infos])}
    return {
        "rules": [_rule_row(info, by_id, left, past, nowhere) for info in infos],
        "rest": _rest(infos, past, left),
        "channels": [_channel_row(one, infos) for one in known],
        "days": rules.DAYS,
        "past": past,
        "log": log_rows(log_store.page(log_store.LogQuery(limit=8, tried=True)).rows, by_id),
        "silenced": incidents.silenced(now_ns),
        "failed": failed,
        "waiting": waiting,
        "unreadable": channels.unreadable(),
        "no_mail_server": settings.EMAIL_BACKEND.endswith("filebased.EmailBackend"),
        "mail_folder": getattr(settings, "EMAIL_FILE_PATH", ""),
    }


def _rule_row(
    info: RuleInfo,
    known: Mapping[int, ChannelInfo],
    left: frozenset[tuple[int, str]],
    past: History,
    nowhere: set[int],
) -> RuleRow:
    rule = info.rule
    return RuleRow(
        info=info,
        conditions=conditions(rule),
        channels=[known[number] for number in rule.channels if number in known],
        left=sorted(who for number, who in left if number == rule.id),
        fits=len(past.fitting(rule)),
        nowhere=rule.id in nowhere,
    )


def _channel_row(one: ChannelInfo, infos: list[RuleInfo]) -> dict[str, Any]:
    users = [info.rule for info in infos if one.id in info.rule.channels]
    return {"info": one, "kind": KIND_WORDS[one.kind], "rules": users}


def _rest(infos: list[RuleInfo], past: History, left: frozenset[tuple[int, str]]) -> dict[str, Any]:
    """The rule that nobody wrote: pages that no other rule speaks of."""
    spoken = [info.rule for info in infos]
    unspoken = [
        incident
        for incident, facts in past.incidents
        if facts.severity is FindingSeverity.PAGE and not any(r.fits(facts) for r in spoken)
    ]
    source = "every user with an address" if accounts.mail_addresses() else "the sender itself"
    return {
        "recipients": routing.recipients(),
        "source": "ALERT_RECIPIENTS" if settings.ALERT_RECIPIENTS else source,
        "fits": len(unspoken),
        "left": sorted(who for number, who in left if number == 0),
    }


def conditions(rule: Rule) -> list[str]:
    """What a rule asks for, in words; severities first."""
    loud = [one for one in SEVERITIES if one in rule.severities]
    words = [" and ".join({"page": "pages", "warn": "warnings"}[one.value] for one in loud)]
    if rule.kinds:
        words.append("kind " + " or ".join(KINDS.get(k, k) for k in sorted(rule.kinds)))
    words += [f"project {rule.project}"] if rule.project else []
    words += [f"tag {rule.tag}"] if rule.tag else []
    words += [f"owner {rule.owner}"] if rule.owner else []
    return words


def log_rows(rows: list[Delivery], known: Mapping[int, ChannelInfo]) -> list[LogRow]:
    """The log with names instead of numbers."""
    found = []
    for row in rows:
        number = channel_id(row.recipient)
        info = known.get(number) if number is not None else None
        gone = "a channel that was removed"
        name = row.recipient if number is None else info.name if info else gone
        again = row.status == "failed" or (row.status == "pending" and row.tries > 0)
        found.append(LogRow(row, name, info.id if info else None, _after(row.latency_ms), again))
    return found


def _after(latency_ms: int | None) -> str:
    if latency_ms is None:
        return ""
    return f"{latency_ms} ms" if latency_ms < 1_000 else duration(latency_ms / 1_000)


def told(incident: IncidentInfo) -> dict[str, Any]:
    """Who was told of an incident, newest message first, and why those. why: as the rules are
    now, "" while nobody needs to be told."""
    query = log_store.LogQuery(incident=(incident.run_id, incident.id), limit=30)
    found = log_store.page(query)
    known = {one.id: one for one in channels_store.infos()}
    quiet = incident.severity is FindingSeverity.INFO
    return {
        "log": log_rows(found.rows, known),
        "more": found.next_ns is not None,
        "why": "" if quiet else routing.routes([incident])[incident.id].why,
    }


def rule_of(form: QueryDict, number: int) -> Rule:
    """The rule of a form; `rulebook.checked` judges it."""
    return Rule(
        id=number,
        name=form.get("name", ""),
        severities=frozenset(one for one in SEVERITIES if one.value in form.getlist("severities")),
        kinds=frozenset(form.getlist("kinds")[:100]),
        project=form.get("project", ""),
        tag=form.get("tag", ""),
        owner=form.get("owner", ""),
        channels=tuple(wholes(form.getlist("channels")[:500])),
        everybody=form.get("everybody") == "yes",
        enabled=form.get("enabled") == "yes",
    )


def tried(rule: Rule, now_ns: int) -> dict[str, Any]:
    """What a rule would have sent in the last days."""
    past = rules.history(now_ns)
    fits = past.fitting(rule)
    return {
        "fits": len(fits),
        "of": len(past.incidents),
        "examples": fits[:SHOWN_INCIDENTS],
        "more": max(0, len(fits) - SHOWN_INCIDENTS),
        "days": rules.DAYS,
        "whole": past.whole,
    }
