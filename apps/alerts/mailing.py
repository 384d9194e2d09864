"""What a mail says: facts from every app, and the message made of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import urlsplit

import numpy as np
from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import get_template

from apps.alerts import leaving, store
from apps.alerts.domain import timing
from apps.alerts.domain.bundle import Bundle
from apps.alerts.domain.mail import MailFacts, Reason
from apps.alerts.domain.message import Kind
from apps.alerts.store import Claimed
from apps.alerts.transports.email import message, plot
from apps.core.records import Candidate, Finding
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.incidents.domain.suggestion import Advice
from apps.metrics import naming
from apps.metrics import store as metrics
from apps.runs import store as runs

log = logging.getLogger(__name__)

_PLOT_STEPS = 150
_WEEK_NS = 7 * 24 * timing.HOUR_NS
T = TypeVar("T")
Candidates = Callable[[int, IncidentInfo], Sequence[Candidate]]
Advise = Callable[[IncidentInfo, Sequence[Finding], Sequence[Candidate]], Advice | None]


def no_advice(*_: object) -> None:
    """Says nothing."""


@dataclass(frozen=True, slots=True)
class Lookups:
    """What mails take from apps above this one: `rollbacks.services.candidates` and the advice of
    `rollbacks.cards.card`."""

    candidates: Candidates
    advise: Advise = no_advice


def _nowhere(run_id: int, incident: IncidentInfo) -> Sequence[Candidate]:
    del run_id, incident
    return ()


NO_LOOKUPS = Lookups(_nowhere)
"""For a message that shares a mail with others: it has room for one line."""


def warm_up() -> None:
    """Loads what the first mail would wait for: matplotlib (1.1 s on an idle core, 5 s and more on
    a busy one), its fonts, the templates. A worker calls it before it forks its processes."""
    step = np.arange(2, dtype=np.int64)
    plot.draw(plot.Curve("warm-up", step, step.astype(np.float64), 1))
    for name in message.TEMPLATES:
        get_template(name)


def facts(claimed: Claimed, incident: IncidentInfo, above: Lookups, now_ns: int) -> MailFacts:
    """What the message says. About 30 statements, most of them for candidates and advice."""
    address = claimed.address
    certain = claimed.kind is Kind.OPENING and timing.over(incident, now_ns)
    over = claimed.kind is Kind.CLOSING or certain
    run = runs.run_by_id(address.run_id)
    findings = tuple(incidents.findings(address.run_id, incident.id))
    known: Sequence[Candidate] = ()
    if not over:
        known = _optional(lambda: above.candidates(run.id, incident), ())
    advice = None if over else _optional(lambda: above.advise(incident, findings, known), None)
    return MailFacts(
        kind=claimed.kind,
        seq=claimed.seq,
        incident=incident,
        run_key=run.key,
        recipient=address.recipient,
        site_url=settings.PUBLIC_URL,
        host=urlsplit(settings.PUBLIC_URL).hostname or "localhost",
        now_ns=now_ns,
        dated_ns=claimed.dated_ns,
        over=over,
        subject=store.opening_subject(address),
        findings=findings,
        candidates=tuple(known),
        project=run.project,
        advice=advice,
        fired=incidents.opened_since(run.id, incident.kind, now_ns - _WEEK_NS),
        reason=_optional(lambda: leaving.reason(incident, address.recipient), Reason()),
    )


def build(bundle: Bundle) -> EmailMultiAlternatives:
    """The mail that says everything in the bundle; with a plot if it is about one incident."""
    if len(bundle.facts) > 1:
        return message.build_bundle(bundle, settings.DEFAULT_FROM_EMAIL)
    told = bundle.first
    curve = _optional(lambda: _curve(told.incident), None)
    png = _optional(lambda: plot.draw(curve), b"") if curve else b""
    described = replace(told, plot_alt=plot.describe(curve)) if curve else told
    return message.build(replace(bundle, facts=(described,)), png, settings.DEFAULT_FROM_EMAIL)


def _optional(make: Callable[[], T], fallback: T) -> T:
    """A part of the message that must never keep it from being sent."""
    try:
        return make()
    except Exception:
        log.exception("alerts.part_failed")
        return fallback


def _curve(incident: IncidentInfo) -> plot.Curve | None:
    """The loss around the onset, or up to the end of a dead job; None if the run logs none."""
    loss = naming.roles_of(incident.run_id).loss
    if loss is None or incident.onset_step is None:
        return None
    first = max(0, incident.onset_step - _PLOT_STEPS)
    rows = metrics.read_rows(
        incident.run_id, incident.attempt, [loss], first, incident.onset_step + _PLOT_STEPS
    )
    if loss not in rows:
        return None
    step, _, value = rows[loss]
    return plot.Curve(loss, step, value, incident.onset_step)
